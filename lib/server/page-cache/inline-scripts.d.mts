export function scriptPolicyOf(html: string): string | null;
