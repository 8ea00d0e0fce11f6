/**
 * A block of JSON-LD. Browsers run no script of this type, so no policy needs to name it; `<` is written as an escape,
 * so that no text of the data ends it.
 */
export function StructuredData({ data }: { data: object }) {
  return <script type="application/ld+json">{JSON.stringify(data).replaceAll("<", "\\u003c")}</script>;
}
