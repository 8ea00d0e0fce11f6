import { existsSync, realpathSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { environment } from "../environment";
import { capture } from "../processes/capture";

/** What a launch needs of the driver beside its GPUs' own nodes. */
export type DriverFiles = {
  /** Device nodes that every launch with a GPU opens. */
  devicePaths: string[];
  /** Folders with the driver's libraries that lie outside of /usr and /lib: a sandbox has to show them. */
  folders: string[];
  /** Folders that the dynamic linker does not find by itself, for LD_LIBRARY_PATH. */
  searchPath: string[];
  /** Read-only parts of sysfs that tell CUDA and NCCL how GPUs hang together. */
  systemPaths: string[];
};

const controlNodes = ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"];
const systemPaths = ["/sys/devices", "/sys/bus/pci", "/sys/class/pci_bus"];
const library = "libcuda.so.1";
// Where drivers put into containers and onto unusual systems lie.
const knownFolders = ["/usr/local/nvidia/lib64", "/usr/lib/wsl/lib", "/run/opengl-driver/lib", "/opt/nvidia/lib64"];

/** The path that the dynamic linker's cache has for the driver's library; null where it has none. */
async function cachedLibrary(): Promise<string | null> {
  for (const program of ["/sbin/ldconfig", "/usr/sbin/ldconfig"]) {
    const run = await capture(program, ["-p"], { timeoutMs: 10_000 }).catch(() => null);
    const line = run?.stdout.split("\n").find((text) => text.includes(library) && !/i386|lib32/.test(text));
    if (line !== undefined) return /=>\s*(\S+)/.exec(line)?.[1] ?? null;
  }
  return null;
}

const isSystem = (folder: string): boolean => /^\/(usr|lib|lib64)(\/|$)/.test(folder);

/** Finds the driver's nodes and libraries on this host. */
export async function findDriverFiles(): Promise<DriverFiles> {
  const cached = await cachedLibrary();
  const listed = (environment.variables.LD_LIBRARY_PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const found = cached ?? [...listed, ...knownFolders].map((folder) => join(folder, library)).find(existsSync) ?? null;
  const folders = found === null || !existsSync(found) ? [] : [dirname(found), dirname(realpathSync(found))];
  return {
    devicePaths: controlNodes.filter(existsSync),
    folders: [...new Set(folders)].filter((folder) => !isSystem(folder)),
    searchPath: cached === null && found !== null ? [dirname(found)] : [],
    systemPaths: systemPaths.filter(existsSync),
  };
}
