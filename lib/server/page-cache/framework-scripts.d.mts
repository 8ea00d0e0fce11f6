export function inertComponents(serverDistDir: string): Set<string>;
export function withScriptsLater(html: string): string;
export function withoutFramework(html: string, inert: ReadonlySet<string>): string | null;
