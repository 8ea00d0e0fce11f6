"use client";

import { useState } from "react";

/** Copies the page's address; where no script runs it takes no room, since the address bar has it. */
export function CopyLink() {
  const [copied, setCopied] = useState<boolean | null>(null);
  const copy = () => {
    navigator.clipboard.writeText(window.location.href).then(
      () => setCopied(true),
      () => setCopied(false),
    );
  };
  return (
    <button type="button" className="copy-link" onClick={copy}>
      <span aria-live="polite">
        {copied === null ? "Copy link" : copied ? "Link copied" : "The browser refused to copy"}
      </span>
    </button>
  );
}
