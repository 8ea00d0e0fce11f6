import { Option } from "commander";
import { type Mirrors, parseMirrors } from "../suites/upstream/mirrors";

/** `--mirror owner/name=DIR`, which may be repeated. */
export const mirrorOption = (): Option =>
  new Option(
    "--mirror <owner/name=dir>",
    "clone or mirror that a task by reference reads its sources from; may be repeated (also INFRADEV_MIRRORS)",
  ).argParser<string[]>((value, earlier = []) => [...earlier, value]);

/** What the option gave. Throws `upstream.mirror-form`. */
export const mirrorsOf = (options: { mirror?: string[] }): Mirrors => parseMirrors(options.mirror ?? []);
