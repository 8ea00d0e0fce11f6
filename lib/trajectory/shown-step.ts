import type { Excerpt, ShownStep, TrajectoryContent, TrajectoryStep } from "../contract/trajectory";
import { instantOf } from "./read-trajectory";

/** Characters that are shown of one text, and of all of a step's texts together. */
const textChars = 4000;
const stepChars = 24_000;
/** Calls of a step, and results of a call, that are shown. */
const shownCalls = 50;
const shownResults = 8;

/** Tools that take a command for a shell, or code to run, by their whole name in lower case. */
const shellTool =
  /^(?:(?:execute|run|exec|invoke)_?)?(?:bash|shell|sh|terminal|command|commands|cmd|terminal_cmd|shell_command|bash_command|script|ipython|ipython_cell|python)(?:_?(?:command|exec|execute|run|tool|session))?$|^(?:container\.|functions\.)?(?:exec|exec_command|execute|run)$|^local_shell(?:_call)?$/;
const commandKeys = ["command", "cmd", "commands", "script", "code", "keystrokes", "input"] as const;

/** The command of a call to a shell; null for calls of other tools. */
export function commandOf(call: { function_name: string; arguments: Record<string, unknown> }): string | null {
  if (!shellTool.test(call.function_name.toLowerCase())) return null;
  for (const key of commandKeys) {
    const value = call.arguments[key];
    if (typeof value === "string") return value;
    if (Array.isArray(value) && value.length > 0 && value.every((part) => typeof part === "string")) {
      const parts = value as string[];
      // Argument vectors come as they go to exec: the script of `bash -lc` is its last part.
      if (/^(?:\S*\/)?(?:bash|sh|zsh)$/.test(parts[0] ?? "") && /^-\w*c$/.test(parts[1] ?? "")) return parts[2] ?? "";
      return key === "commands" ? parts.join("\n") : parts.join(" ");
    }
  }
  return null;
}

/** Text of a message or an observation; an image stands as its name. */
function textOf(content: TrajectoryContent | null | undefined): string {
  if (content === null || content === undefined) return "";
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : `[image: ${part.source.path}]`)).join("\n");
}

/** Arguments that are no command, over several lines where that is a text to read and not one to fill memory with. */
function argumentsText(args: Record<string, unknown>): string {
  const line = JSON.stringify(args);
  return line.length > 4 * textChars ? line : JSON.stringify(args, null, 1);
}

/** A step as pages show it. Long texts are cut, between characters, and say how long they are. */
export function shownStep(step: TrajectoryStep): ShownStep {
  let left = stepChars;
  const excerpt = (text: string): Excerpt => {
    let end = Math.min(text.length, textChars, Math.max(0, left));
    if (end < text.length && /[\ud800-\udbff]/.test(text.charAt(end - 1))) end -= 1;
    left -= end;
    return { text: text.slice(0, end), chars: text.length };
  };
  const at = instantOf(step.timestamp);
  const calls = step.tool_calls ?? [];
  const results = step.observation?.results ?? [];
  const owners = new Set(calls.map((call) => call.tool_call_id));
  let leftOut = Math.max(0, calls.length - shownCalls);
  const resultsOf = (belongs: (id: string | null | undefined) => boolean) => {
    const own = results.filter((result) => belongs(result.source_call_id));
    leftOut += Math.max(0, own.length - shownResults);
    return own.slice(0, shownResults).map((result) => excerpt(textOf(result.content)));
  };
  return {
    number: step.step_id,
    source: step.source,
    at: at === null ? null : new Date(at).toISOString(),
    message: excerpt(textOf(step.message)),
    reasoning: step.reasoning_content ? excerpt(step.reasoning_content) : null,
    calls: calls.slice(0, shownCalls).map((call) => ({
      tool: call.function_name,
      arguments: excerpt(commandOf(call) ?? argumentsText(call.arguments)),
      results: resultsOf((id) => id === call.tool_call_id),
    })),
    results: resultsOf((id) => id === null || id === undefined || !owners.has(id)),
    leftOut,
    copied: step.is_copied_context === true,
  };
}
