import { renderToStaticMarkup } from "react-dom/server";
import { expect, test, vi } from "vitest";
import { LabelDesk } from "./label-desk";
import { QueueEmpty, QueueFinished } from "./queue-end";

vi.mock("next/navigation", () => ({ useRouter: () => ({ push: vi.fn(), refresh: vi.fn() }) }));

const drawn = (part: React.ReactNode) => renderToStaticMarkup(<LabelDesk problem={null}>{part}</LabelDesk>);

test("the end of the queue says so, leads on, and holds nothing by which a key could label", () => {
  const html = drawn(<QueueFinished filter={{ type: "value" }} total={8} first="/label?type=value&at=first" />);
  expect(html).toContain("All 8 cases of this filter are labelled by you");
  for (const href of ["/label?type=value&amp;at=first", "#filters", "/label/disagreements"])
    expect(html).toContain(`href="${href}"`);
  expect(html).toContain('action="/label/undo"');
  expect(html).not.toMatch(/type="radio"|\/label\/record/);
  expect(drawn(<QueueFinished filter={{}} total={1} first="/label" />)).toContain("The one case of this filter is");
});

test("an empty queue says what stands in it, and of a filter by labels that failures leave it", () => {
  const html = drawn(<QueueEmpty filter={{}} />);
  expect(html).toContain("hidden probes are not labelled");
  expect(html).toContain('href="/failures?entryKind=reference"');
  expect(html).not.toMatch(/goes by labels|The whole queue/);
  expect(drawn(<QueueEmpty filter={{ reviewed: "no" }} />)).toMatch(/goes by labels.*The whole queue/);
});
