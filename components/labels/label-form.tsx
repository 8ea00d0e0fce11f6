"use client";

import type { Route } from "next";
import { useRouter } from "next/navigation";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { formatNumber } from "@/lib/format/numbers";
import { askedKey, isTyping, keysStorage, LabelStatus, UndoForm, useDesk } from "./label-desk";

interface Props {
  address: { grading: string; test: number };
  /** The test's name, for what is said once its label is saved. */
  testName: string;
  types: { type: string; class: string; title: string; meaning: string; key: string | null }[];
  own: { type: string; note: string | null } | null;
  decides: boolean;
  /** Failures of the cluster, this one among them; null where it is in none. */
  cluster: number | null;
  hrefs: { here: string; previous: string | null; next: string | null; after: string };
}

/** The words that are marked in the message, with the place where they begin; null where none are. */
function markedWords(): { quote: string; from: number } | null {
  const message = document.getElementById("label-message");
  const selection = document.getSelection();
  if (!message || !selection || selection.isCollapsed || selection.rangeCount === 0) return null;
  const range = selection.getRangeAt(0);
  if (!message.contains(range.startContainer) || !message.contains(range.endContainer)) return null;
  const before = document.createRange();
  before.setStart(message, 0);
  before.setEnd(range.startContainer, range.startOffset);
  const text = range.toString();
  const quote = text.trim();
  return quote === "" ? null : { quote, from: before.toString().length + text.indexOf(quote) };
}

/** The types as a form. Where scripts run, keys choose and go on, and words marked in the message are kept as evidence. */
export function LabelForm({ address, testName, types, own, decides, cluster, hrefs }: Props) {
  const router = useRouter();
  const form = useRef<HTMLFormElement>(null);
  const help = useRef<HTMLDetailsElement>(null);
  const [keysOn, setKeysOn] = useState(true);
  const { send } = useDesk();

  useEffect(() => setKeysOn(localStorage.getItem(keysStorage) !== "off"), []);

  function submit(event: FormEvent<HTMLFormElement>): void {
    event.preventDefault();
    const type = new FormData(event.currentTarget).get("type");
    const done = `${decides ? "Decided" : "Saved"}: ${String(type)} for ${testName}`;
    const say = (labelled: number) =>
      labelled > 1 ? `${done}, and for ${formatNumber(labelled - 1)} more of its cluster.` : `${done}.`;
    void send(event.currentTarget, say, hrefs.here);
  }

  useEffect(() => {
    function keep(): void {
      const words = markedWords();
      const quote = form.current?.elements.namedItem("quote");
      const from = form.current?.elements.namedItem("from");
      if (!words || !(quote instanceof HTMLTextAreaElement) || !(from instanceof HTMLInputElement)) return;
      quote.value = words.quote;
      from.value = String(words.from);
    }
    document.addEventListener("mouseup", keep);
    document.addEventListener("keyup", keep);
    return () => {
      document.removeEventListener("mouseup", keep);
      document.removeEventListener("keyup", keep);
    };
  }, []);

  useEffect(() => {
    function press(event: KeyboardEvent): void {
      if (event.key === "Escape" && isTyping(event.target)) {
        (event.target as HTMLElement).blur();
        return;
      }
      const key = askedKey(event);
      if (key === null) return;
      const type = key === "u" ? "unclassified" : types.find((one) => one.key === key)?.type;
      const radio = type === undefined ? null : form.current?.querySelector(`input[type=radio][value="${type}"]`);
      if (radio instanceof HTMLInputElement) {
        radio.checked = true;
        form.current?.requestSubmit();
      } else if (key === "j" && hrefs.next) router.push(hrefs.next as Route);
      else if (key === "k" && hrefs.previous) router.push(hrefs.previous as Route);
      else if (key === "b") {
        const box = form.current?.elements.namedItem("cluster");
        if (box instanceof HTMLInputElement) box.checked = !box.checked;
      } else if (key === "n") {
        const note = form.current?.elements.namedItem("note");
        if (note instanceof HTMLTextAreaElement) note.focus();
      } else if (key === "?" && help.current) {
        help.current.open = !help.current.open;
        if (help.current.open) help.current.scrollIntoView({ block: "nearest" });
      } else return;
      event.preventDefault();
    }
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [router, hrefs.next, hrefs.previous, types]);

  const name = `${address.grading}.${address.test}`;
  const choices = [
    ...types,
    {
      type: "unclassified",
      class: "",
      title: "Unclassified",
      meaning: "none of these fits, or what is shown does not say",
      key: "u",
    },
  ];
  return (
    <section aria-label={decides ? "Decide" : "Label"}>
      <LabelStatus />
      <form ref={form} key={name} action="/label/record" method="post" onSubmit={submit} className="label-form">
        <input type="hidden" name="grading" value={address.grading} />
        <input type="hidden" name="test" value={address.test} />
        <input type="hidden" name="next" value={hrefs.after} />
        <input type="hidden" name="here" value={hrefs.here} />
        <input type="hidden" name="from" defaultValue="" />
        {decides ? <input type="hidden" name="adjudicate" value="yes" /> : null}
        <fieldset>
          <legend>{decides ? "Which type counts" : "Why it failed"}</legend>
          {choices.map((choice) => (
            <label key={choice.type} className="label-choice">
              <input
                type="radio"
                name="type"
                value={choice.type}
                required
                defaultChecked={!decides && own?.type === choice.type}
              />
              {choice.key ? <kbd>{choice.key}</kbd> : null}
              <span>
                <strong>{choice.title}</strong> {choice.class ? <span className="count">{choice.class}</span> : null}
                <small>{choice.meaning}</small>
              </span>
            </label>
          ))}
        </fieldset>
        <label className="label-field">
          <span>
            Read from <small>words of the message; mark them there</small>
          </span>
          <textarea name="quote" rows={2} maxLength={2000} />
        </label>
        <label className="label-field">
          <span>
            Note <small>published with the label</small>
          </span>
          <textarea name="note" rows={2} maxLength={1000} defaultValue={own?.note ?? ""} />
        </label>
        {cluster !== null && cluster > 1 ? (
          <label className="label-check">
            <input type="checkbox" name="cluster" value="yes" />
            <span>
              also every failure of its cluster that I have not labelled, here ({cluster} in all) and on other suites
            </span>
          </label>
        ) : null}
        <button type="submit" className="action">
          {decides ? "Decide" : own ? "Change my label" : "Save"}
        </button>
      </form>
      <div className="label-steps">
        {hrefs.previous ? <a href={hrefs.previous}>Previous</a> : null}
        {hrefs.next ? <a href={hrefs.next}>Next</a> : null}
        <UndoForm here={hrefs.here} />
      </div>
      <details ref={help} className="label-help">
        <summary>Keys</summary>
        <dl>
          {choices.map(({ key, title }) =>
            key ? (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{title}, save and go on</dd>
              </div>
            ) : null,
          )}
          {[
            ["j", "next"],
            ["k", "previous"],
            ["b", "the whole cluster, or this one alone"],
            ["n", "write a note; Escape leaves it"],
            ["z", "take back my last label"],
            ["?", "this help"],
          ].map(([key, meaning]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
        <label className="label-check">
          <input
            type="checkbox"
            checked={keysOn}
            onChange={(event) => {
              setKeysOn(event.target.checked);
              localStorage.setItem(keysStorage, event.target.checked ? "on" : "off");
            }}
          />
          <span>keys are on</span>
        </label>
      </details>
    </section>
  );
}
