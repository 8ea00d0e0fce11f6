import { formatNumber } from "@/lib/format/numbers";
import type { PageOf } from "@/lib/prepare/board-shown";
import { type BoardView, viewHref } from "@/lib/prepare/board-view";

/** Which rows of a long board stand on this page, and links to its neighbours; nothing where one page holds all. */
export function PageLinks({ view, page }: { view: BoardView; page: PageOf<unknown> }) {
  if (page.pages === 1) return null;
  const href = (number: number) => `${viewHref({ ...view, page: number })}#ranking`;
  const numbers = Array.from({ length: page.pages }, (_, index) => index + 1).filter(
    (number) => number === 1 || number === page.pages || Math.abs(number - page.page) <= 2,
  );
  return (
    <nav className="pages" aria-label="Pages">
      <p>
        Rows {formatNumber(page.first)} to {formatNumber(page.first + page.items.length - 1)} of{" "}
        {formatNumber(page.total)}
      </p>
      <ul>
        {page.page > 1 ? (
          <li>
            <a href={href(page.page - 1)} rel="prev">
              Previous
            </a>
          </li>
        ) : null}
        {numbers.map((number, index) => (
          <li key={number} className={number - (numbers[index - 1] ?? 0) > 1 ? "after-gap" : undefined}>
            <a
              href={href(number)}
              aria-current={number === page.page ? "page" : undefined}
              aria-label={`Page ${number}`}
            >
              {number}
            </a>
          </li>
        ))}
        {page.page < page.pages ? (
          <li>
            <a href={href(page.page + 1)} rel="next">
              Next
            </a>
          </li>
        ) : null}
      </ul>
    </nav>
  );
}
