import type { TrajectoryStep } from "../contract/trajectory";
import { type Property, properties } from "../contract/vocabulary";
import { commandOf } from "../trajectory/shown-step";
import { codeChecks } from "./code-checks";
import { moduleOf, programRules } from "./command-rules";
import { type SimpleCommand, simpleCommands } from "./shell-text";

/** What the commands check that an agent ran. */
export interface CommandChecks {
  /** Calls of a shell. */
  commands: number;
  /** Calls that run tests. */
  testRuns: number;
  /** Properties that what was run checks, in the order of the vocabulary. */
  checks: Property[];
}

/** Scripts that are remembered, and how much of each. */
const mostScripts = 500;
const scriptChars = 200_000;

/** Shells within shells that are followed. */
const deepestShell = 3;

const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);
const isPython = (path: string) => path.endsWith(".py");
const isShellScript = (path: string) => /\.(?:sh|bash)$/.test(path);

/** Words before the program that is run: assignments, and programs that run another one. */
const wrappers =
  /^(?:sudo|env|nohup|nice|stdbuf|setsid|ionice|taskset|numactl|timeout|command|exec|xvfb-run|srun|mpirun|mpiexec|uv|poetry|pdm|hatch|pixi|conda|rye|run|accelerate|launch|coverage|xargs)$/;
const runsTests = /^(?:pytest|py\.test|nosetests|tox|nox)$/;
const runsPython = /^(?:python|python3|python3\.\d+|ipython|torchrun|deepspeed)$/;

interface Run {
  program: string;
  args: string[];
  /** The shell's word `time`, or the program of that name with its options. */
  timed: string[] | null;
}

/** What a simple command runs, past assignments, wrappers and their options. */
function runOf(words: readonly string[]): Run | null {
  let timed: string[] | null = null;
  let at = 0;
  while (at < words.length) {
    const word = words[at] as string;
    const program = nameOf(word);
    if (/^[A-Za-z_]\w*=/.test(word)) at += 1;
    else if (program === "time") {
      at += 1;
      timed = [];
      while (at < words.length && (words[at] as string).startsWith("-")) {
        const option = words[at] as string;
        timed.push(option);
        at += 1;
        if (option === "-f" || option === "-o") timed.push(words[at++] ?? "");
      }
    } else if (wrappers.test(program)) {
      at += 1;
      // Options of a wrapper, and the number, name or list that some of them take.
      while (at < words.length && /^(?:-|\d+(?:\.\d+)?[smhd]?$|\d+(?:[,-]\d+)+$)/.test(words[at] as string)) {
        const takesName = /^-(?:n|p|u|np|-name|-prefix|-env-file|-with|-project|-python)$/.test(words[at] as string);
        at += takesName && !(words[at + 1] ?? "-").startsWith("-") ? 2 : 1;
      }
    } else return { program, args: words.slice(at + 1), timed };
  }
  return null;
}

/** A script that the agent wrote; null until it was run. */
interface Script {
  text: string;
  runsTests: boolean | null;
}

/**
 * Reads the steps of a trajectory for what the agent's commands check, by the rules of `selfTestRulesVersion`: syntax
 * alone, nothing is run. What a command only mentions (a search, a text that is printed or written) checks nothing.
 */
export class CommandReader {
  private commands = 0;
  private testRuns = 0;
  private readonly checked = new Set<Property>();
  /** Scripts that the agent wrote, by the name of their file: they count once they are run. */
  private readonly scripts = new Map<string, Script>();

  add(step: TrajectoryStep): void {
    if (step.source !== "agent" || step.is_copied_context === true) return;
    for (const call of step.tool_calls ?? []) {
      const command = commandOf(call);
      if (command === null) this.rememberFile(call.arguments);
      else {
        this.commands += 1;
        // Tools that run code of a notebook take it as it is.
        if (/python/i.test(call.function_name)) this.runPython(command);
        else if (this.runShell(command, 0)) this.testRuns += 1;
      }
    }
  }

  result(): CommandChecks {
    return {
      commands: this.commands,
      testRuns: this.testRuns,
      checks: properties.filter((property) => this.checked.has(property)),
    };
  }

  /** A file that a tool writes whole: a path and a text among its arguments. */
  private rememberFile(args: Record<string, unknown>): void {
    const first = (...keys: string[]) => keys.map((key) => args[key]).find((value) => typeof value === "string");
    const path = first("path", "file_path", "filename", "target_file");
    const text = first("file_text", "content", "contents", "text");
    if (typeof path === "string" && typeof text === "string") this.remember(path, text);
  }

  private remember(path: string, text: string): void {
    if (!(isPython(path) || isShellScript(path))) return;
    if (this.scripts.size < mostScripts || this.scripts.has(nameOf(path)))
      this.scripts.set(nameOf(path), { text: text.slice(0, scriptChars), runsTests: null });
  }

  private runPython(code: string): void {
    for (const property of codeChecks(code.slice(0, scriptChars))) this.checked.add(property);
  }

  /** Whether the text runs tests. Scripts and `bash -c` are followed a few levels down. */
  private runShell(text: string, depth: number): boolean {
    let tests = false;
    for (const command of simpleCommands(text)) {
      if (command.writes !== null && command.input !== null) this.remember(command.writes, command.input);
      const run = runOf(command.words);
      if (run === null) continue;
      if (run.program === "tee" && command.input !== null)
        for (const path of run.args) this.remember(path, command.input);
      if (this.runOne(command, run, depth)) tests = true;
    }
    return tests;
  }

  private runOne(command: SimpleCommand, run: Run, depth: number): boolean {
    const { program, args, timed } = run;
    for (const rule of programRules) if (rule.program.test(program) && rule.when(args)) this.checked.add(rule.property);
    const shell = /^(?:bash|sh|zsh|dash)$/.test(program);
    const python = runsPython.test(program);
    if (python && /^(?:pip|ensurepip|venv)$/.test(moduleOf(args))) return false;
    let tests = runsTests.test(program) || (python && /^(?:pytest|unittest)$/.test(moduleOf(args)));
    if (python || tests) this.runCode(command, args, python);
    else {
      const found = shell ? this.givenTo(command, args) : this.scripts.get(program);
      if (found === undefined && !shell) return false;
      if (found !== undefined) tests = this.runScript(found, isPython(program), depth);
    }
    if (timed) {
      this.checked.add("resource.speed");
      if (timed.some((option) => /^-\w*v$|^--verbose$|%M/.test(option))) this.checked.add("resource.memory");
    }
    if (command.loops.some((variable) => mentions(command, variable))) this.checked.add("condition");
    return tests;
  }

  /** What a shell is told to run: `-c`, a script of the agent's own, or its input. */
  private givenTo({ input }: SimpleCommand, args: readonly string[]): Script | undefined {
    const at = args.findIndex((arg) => /^-\w*c$/.test(arg));
    const file = args.find((arg) => !arg.startsWith("-"));
    const text = at >= 0 ? args[at + 1] : file === undefined ? input : undefined;
    if (typeof text === "string") return { text, runsTests: null };
    return file === undefined ? undefined : this.scripts.get(nameOf(file));
  }

  /** Whether a script runs tests. It is read when it is run for the first time, however often it is. */
  private runScript(script: Script, python: boolean, depth: number): boolean {
    if (script.runsTests === null) {
      if (!python && depth >= deepestShell) return false;
      script.runsTests = false;
      if (python) this.runPython(script.text);
      else script.runsTests = this.runShell(script.text, depth + 1);
    }
    return script.runsTests;
  }

  /** Code that is given on the command line, as input, or in a script of the agent's own. */
  private runCode(command: SimpleCommand, args: readonly string[], python: boolean): void {
    const text = python && args.includes("-c") ? args[args.indexOf("-c") + 1] : undefined;
    if (text !== undefined) {
      this.runPython(text);
      return;
    }
    const files = args.map((arg) => nameOf(arg.split("::", 1)[0] as string)).filter(isPython);
    if (files.length === 0 && command.input !== null) this.runPython(command.input);
    for (const file of files) {
      const script = this.scripts.get(file);
      if (script) this.runScript(script, true, 0);
    }
  }
}

const mentions = ({ words, input }: SimpleCommand, variable: string): boolean => {
  const name = new RegExp(`\\$(?:\\{${variable}\\b|${variable}\\b)`);
  return words.some((word) => name.test(word)) || name.test(input ?? "");
};
