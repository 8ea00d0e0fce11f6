export function joinPushes(html: string): string;
export function scriptPolicyOf(html: string): string | null;
