export function isFrameworkScript(text: string): boolean;
export function joinPushes(html: string): string;
export function scriptPolicyOf(html: string): string | null;
