import { XMLParser } from "fast-xml-parser";
import { z } from "zod";

/** One GPU as `nvidia-smi -q -x` tells of it; what the driver calls N/A or unsupported is null. */
export type GpuReading = {
  index: number;
  uuid: string;
  /** N of /dev/nvidiaN. */
  minor: number | null;
  model: string;
  memoryMb: number;
  memoryUsedMb: number | null;
  driver: string;
  /** Uncorrected ECC errors since the driver was loaded. */
  eccUncorrected: number | null;
  mig: "enabled" | "disabled" | null;
  /** `00000000:1B:00.0`. */
  pciBus: string | null;
  processes: { pid: number; memoryMb: number | null }[];
};

/** A GPU that the driver knows of and cannot reach. */
export type UnreadableGpu = { pciBus: string | null; message: string };

export type DriverReading = {
  driver: string;
  cuda: string | null;
  gpus: GpuReading[];
  unreadable: UnreadableGpu[];
};

const absent = /^(\[?n\/a\]?|\[?not supported\]?|\[?unknown error\]?|\[?insufficient permissions\]?|none|)$/i;

const textOf = (value: unknown): string | null => {
  if (typeof value !== "string") return null;
  const text = value.trim();
  return absent.test(text) ? null : text;
};

/** The number in front of a unit (`143771 MiB`); null where there is none. */
const numberOf = (value: unknown): number | null => {
  const match = /^(\d+(?:\.\d+)?)(?:\s|$)/.exec(textOf(value) ?? "");
  return match === null ? null : Math.round(Number(match[1]));
};

const recordSchema = z.record(z.string(), z.unknown());
const childOf = (value: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>((node, name) => {
    const parsed = recordSchema.safeParse(node);
    return parsed.success ? parsed.data[name] : undefined;
  }, value);
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : value === undefined ? [] : [value]);

/** Adds up every uncorrected counter of a volatile block; their names differ between generations of GPUs. */
function uncorrectedOf(volatile: unknown): number | null {
  const parsed = recordSchema.safeParse(volatile);
  if (!parsed.success) return null;
  const counts = Object.entries(parsed.data).flatMap(([name, value]) => {
    if (/uncorrectable/.test(name)) return [numberOf(value)];
    return name === "double_bit" ? [numberOf(childOf(value, "total"))] : [];
  });
  const known = counts.filter((count) => count !== null);
  return known.length === 0 ? null : known.reduce((sum, count) => sum + count, 0);
}

const lostLine = /Unable to determine the device handle for /i;
const pciAddress = /[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]/i;
const broken = /GPU is lost|Unknown Error|GPU requires reset/i;

/** GPUs that nvidia-smi says it cannot open, from what it printed beside its document. */
export function unreadableOf(printed: string): UnreadableGpu[] {
  return printed.split("\n").flatMap((line) => {
    if (!lostLine.test(line)) return [];
    return [{ pciBus: pciAddress.exec(line)?.[0] ?? null, message: line.trim().slice(0, 300) }];
  });
}

/**
 * Reads the document that `nvidia-smi -q -x` prints; null where there is none in `printed`. A GPU without a readable
 * UUID or memory is listed as unreadable and not among the GPUs.
 */
export function parseDriverDocument(printed: string): DriverReading | null {
  const start = printed.indexOf("<?xml");
  const end = printed.lastIndexOf("</nvidia_smi_log>");
  if (start < 0 || end < start) return null;
  const document = printed.slice(start, end + "</nvidia_smi_log>".length).replace(/<!DOCTYPE[^>]*>/, "");
  const parser = new XMLParser({ ignoreAttributes: false, parseTagValue: false, processEntities: true });
  let root: unknown;
  try {
    root = childOf(parser.parse(document), "nvidia_smi_log");
  } catch {
    return null;
  }
  const driver = textOf(childOf(root, "driver_version"));
  if (driver === null) return null;
  const reading: DriverReading = {
    driver,
    cuda: textOf(childOf(root, "cuda_version")),
    gpus: [],
    unreadable: unreadableOf(printed.slice(0, start) + printed.slice(end)),
  };
  for (const [index, gpu] of listOf(childOf(root, "gpu")).entries()) {
    const pciBus = textOf(childOf(gpu, "pci", "pci_bus_id")) ?? textOf(childOf(gpu, "@_id"));
    const uuid = textOf(childOf(gpu, "uuid"));
    const memoryMb = numberOf(childOf(gpu, "fb_memory_usage", "total"));
    if (uuid === null || !uuid.startsWith("GPU-") || memoryMb === null) {
      const said = [uuid, textOf(childOf(gpu, "fb_memory_usage", "total"))].find((text) => broken.test(text ?? ""));
      reading.unreadable.push({ pciBus, message: said ?? "the driver tells neither its UUID nor its memory" });
      continue;
    }
    const mig = textOf(childOf(gpu, "mig_mode", "current_mig"));
    const minor = numberOf(childOf(gpu, "minor_number"));
    reading.gpus.push({
      index,
      uuid,
      minor,
      model: textOf(childOf(gpu, "product_name")) ?? "unknown",
      memoryMb,
      memoryUsedMb: numberOf(childOf(gpu, "fb_memory_usage", "used")),
      driver,
      eccUncorrected: uncorrectedOf(childOf(gpu, "ecc_errors", "volatile")),
      mig: mig === null ? null : mig === "Enabled" ? "enabled" : "disabled",
      pciBus,
      processes: listOf(childOf(gpu, "processes", "process_info")).flatMap((process) => {
        const pid = numberOf(childOf(process, "pid"));
        return pid === null ? [] : [{ pid, memoryMb: numberOf(childOf(process, "used_memory")) }];
      }),
    });
  }
  return reading;
}
