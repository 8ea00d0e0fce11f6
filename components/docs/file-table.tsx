interface Props {
  caption: string;
  files: readonly (readonly [name: string, what: string])[];
  /** Headers of the two columns. */
  head?: readonly [string, string];
}

/** Files or commands with what each is. */
export function FileTable({ caption, files, head = ["File", "What it is"] }: Props) {
  return (
    <table className="plain file-table">
      <caption className="sr-only">{caption}</caption>
      <thead>
        <tr>
          <th scope="col">{head[0]}</th>
          <th scope="col">{head[1]}</th>
        </tr>
      </thead>
      <tbody>
        {files.map(([name, what]) => (
          <tr key={name}>
            <th scope="row">
              <code>{name}</code>
            </th>
            <td>{what}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
