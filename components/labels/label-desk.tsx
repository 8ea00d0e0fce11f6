"use client";

import type { Route } from "next";
import { useRouter } from "next/navigation";
import { createContext, type ReactNode, use, useEffect, useRef, useState, useTransition } from "react";

/** Where a browser keeps that its reader wants no keys: the word is `off`. */
export const keysStorage = "infradev-label-keys";

interface Desk {
  /** What the newest act did; it outlives the failure that it was about. */
  status: string;
  failed: string | null;
  /** Sends a form and goes where the answer says; `say` words what was done to so many failures. */
  send: (target: HTMLFormElement, say: (labelled: number) => string, here: string) => Promise<void>;
}

const DeskContext = createContext<Desk | null>(null);

export function useDesk(): Desk {
  const desk = use(DeskContext);
  if (!desk) throw new Error("labelling needs a LabelDesk around it");
  return desk;
}

/** Whether an event is about a field in which a person writes. */
export const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement ||
    (target instanceof HTMLInputElement && target.type !== "radio" && target.type !== "checkbox"));

/** The key of an event that asks for something here; null where it is written, part of a chord, or keys are off. */
export function askedKey(event: KeyboardEvent): string | null {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping(event.target)) return null;
  return localStorage.getItem(keysStorage) === "off" ? null : event.key;
}

/** Keeps what was done while one failure follows another. One act at a time: none before the next failure is shown. */
export function LabelDesk({ problem, children }: { problem: string | null; children: ReactNode }) {
  const router = useRouter();
  const [status, setStatus] = useState("");
  const [failed, setFailed] = useState(problem);
  const [moving, startMoving] = useTransition();
  const busy = useRef<boolean>(false);

  async function send(target: HTMLFormElement, say: (labelled: number) => string, here: string): Promise<void> {
    if (busy.current || moving) return;
    busy.current = true;
    setFailed(null);
    try {
      const body = new URLSearchParams();
      for (const [name, value] of new FormData(target)) if (typeof value === "string") body.append(name, value);
      const answer = await fetch(target.action, { method: "POST", headers: { accept: "application/json" }, body });
      if (answer.status === 401) {
        window.location.assign(`/account/sign-in?${new URLSearchParams({ next: here })}`);
        return;
      }
      const said = (await answer.json()) as { labelled: number; next: string; error?: { message: string } };
      if (!answer.ok) {
        setFailed(`Nothing was saved: ${said.error?.message ?? "the server refused it"}.`);
        return;
      }
      setStatus(say(said.labelled));
      startMoving(() => {
        if (said.next === `${window.location.pathname}${window.location.search}`) router.refresh();
        else router.push(said.next as Route);
      });
    } catch {
      setFailed("Nothing was saved: the server cannot be reached.");
    } finally {
      busy.current = false;
    }
  }

  return <DeskContext value={{ status, failed, send }}>{children}</DeskContext>;
}

/** What the newest act did, or why it did nothing. */
export function LabelStatus() {
  const { status, failed } = useDesk();
  return (
    <>
      <p role="status" className="label-status">
        {status}
      </p>
      {failed ? (
        <p role="alert" className="account-error">
          {failed}
        </p>
      ) : null}
    </>
  );
}

/** Takes the person's newest act back: a button, and the key `z`. */
export function UndoForm({ here }: { here: string }) {
  const { send } = useDesk();
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    function press(event: KeyboardEvent): void {
      if (askedKey(event) !== "z") return;
      event.preventDefault();
      form.current?.requestSubmit();
    }
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
  return (
    <form
      ref={form}
      action="/label/undo"
      method="post"
      onSubmit={(event) => {
        event.preventDefault();
        const say = (labelled: number) => (labelled === 0 ? "There is nothing to take back." : "Taken back.");
        void send(event.currentTarget, say, here);
      }}
    >
      <input type="hidden" name="here" value={here} />
      <button type="submit" className="action">
        Take back my last label
      </button>
    </form>
  );
}
