/** Copies the page's address, by `public/site.js`; where no script runs it takes no room, since the address bar has it. */
export function CopyLink() {
  return (
    <button type="button" className="copy-link">
      <span aria-live="polite">Copy link</span>
    </button>
  );
}
