export function writtenOut(html: string, serverDistDir: string): string;
