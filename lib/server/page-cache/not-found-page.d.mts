export function writtenOut(html: string, serverDistDir: string): string;
export function saysNotFound(html: string): boolean;
