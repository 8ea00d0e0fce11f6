import { existsSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { capture } from "../../processes/capture";

/** The C compiler of this machine, if it has one. */
export const compiler = ["/usr/bin/cc", "/usr/bin/gcc"].find((path) => existsSync(path));

export type FakeDevice = {
  uuid: string;
  usedMib: number;
  /** What each call gives back; 0 is success, 15 a lost GPU. */
  code?: number;
  processes?: number;
  sentKib?: number;
  receivedKib?: number;
  errors?: number;
};

/** A libnvidia-ml.so.1 in a folder, and the values that it answers with. */
export class FakeNvml {
  /** One line a GPU; see `fake-nvml.c`. */
  readonly state: string;

  private constructor(state: string) {
    this.state = state;
  }

  static async build(folder: string): Promise<FakeNvml> {
    if (compiler === undefined) throw new Error("this machine has no C compiler");
    const state = join(folder, "state");
    const source = fileURLToPath(new URL("fake-nvml.c", import.meta.url));
    const library = join(folder, "libnvidia-ml.so.1");
    const built = await capture(compiler, ["-shared", "-fPIC", `-DSTATE="${state}"`, "-o", library, source], {
      timeoutMs: 60_000,
    });
    if (built.code !== 0) throw new Error(built.stderr);
    return new FakeNvml(state);
  }

  async answer(...devices: FakeDevice[]): Promise<void> {
    const lines = devices.map(({ uuid, usedMib, code = 0, processes = 0, sentKib = 0, receivedKib = 0, errors = 0 }) =>
      [uuid, code, usedMib * 1024 * 1024, processes, sentKib, receivedKib, errors].join(" "),
    );
    await writeFile(`${this.state}.new`, `${lines.join("\n")}\n`);
    await rename(`${this.state}.new`, this.state);
  }
}
