import packageJson from "../package.json" with { type: "json" };

/** Version of this program, as bundles and the protocol state it. */
export const runnerVersion: string = packageJson.version;
