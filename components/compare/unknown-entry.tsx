/** Names what a comparison asked for and nothing here is called. */
export function UnknownEntry({ unknown, name }: { unknown: "entry" | "suite"; name: string }) {
  return (
    <div className="page-head prose">
      <h1>
        There is no {unknown} <code>{name}</code>.
      </h1>
      <p className="lead">
        {unknown === "entry"
          ? "No published row belongs to an entry of this name: it is mistyped, was withdrawn, or has not been graded yet."
          : "No suite version has this name."}
      </p>
      <p>
        <a href="/compare">Choose two entries to compare</a>
      </p>
    </div>
  );
}
