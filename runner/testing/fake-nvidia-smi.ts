import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** One GPU as the fake program tells of it; what is left out is an idle, healthy one. */
export type FakeGpu = {
  uuid: string;
  minor?: number | "N/A";
  model?: string;
  totalMb?: number;
  usedMb?: number | "N/A";
  /** `null`: ECC is off, its counters are N/A. */
  eccUncorrected?: number | null;
  mig?: "Enabled" | "Disabled" | "N/A";
  pciBus?: string;
  processes?: { pid: number; usedMb: number | "N/A" }[];
  /** Its fields say that it is lost. */
  lost?: boolean;
};

export type FakeAnswer =
  | { gpus: FakeGpu[]; topology?: string; before?: string }
  | { stdout: string; stderr?: string; code: number }
  /** Never answers. */
  | { hangs: true };

export const fakeUuid = (n: number): string => `GPU-${String(n).padStart(8, "0")}-aaaa-bbbb-cccc-000000000000`;
export const fakeGpus = (count: number): FakeGpu[] =>
  Array.from({ length: count }, (_, n) => ({
    uuid: fakeUuid(n),
    minor: n,
    pciBus: `00000000:${(0x1a + n).toString(16).toUpperCase()}:00.0`,
  }));

const mib = (value: number | "N/A"): string => (value === "N/A" ? "N/A" : `${value} MiB`);

function gpuXml(gpu: FakeGpu): string {
  const { minor = 0, model = "NVIDIA H200", totalMb = 143_771, usedMb = 1, mig = "Disabled", processes = [] } = gpu;
  const { pciBus = "00000000:1B:00.0", eccUncorrected = 0 } = gpu;
  const lost = (value: string): string => (gpu.lost ? "GPU is lost" : value);
  const ecc = eccUncorrected === null ? "N/A" : "0";
  return `	<gpu id="${pciBus}">
		<product_name>${lost(model)}</product_name>
		<product_brand>NVIDIA</product_brand>
		<product_architecture>Hopper</product_architecture>
		<mig_mode>
			<current_mig>${mig}</current_mig>
			<pending_mig>${mig}</pending_mig>
		</mig_mode>
		<mig_devices>
			None
		</mig_devices>
		<uuid>${lost(gpu.uuid)}</uuid>
		<minor_number>${lost(String(minor))}</minor_number>
		<pci>
			<pci_bus>${pciBus.split(":")[1]}</pci_bus>
			<pci_device>00</pci_device>
			<pci_domain>0000</pci_domain>
			<pci_bus_id>${pciBus}</pci_bus_id>
		</pci>
		<fan_speed>N/A</fan_speed>
		<fb_memory_usage>
			<total>${lost(mib(totalMb))}</total>
			<reserved>605 MiB</reserved>
			<used>${lost(mib(usedMb))}</used>
			<free>${usedMb === "N/A" ? "N/A" : `${totalMb - usedMb} MiB`}</free>
		</fb_memory_usage>
		<ecc_mode>
			<current_ecc>${eccUncorrected === null ? "Disabled" : "Enabled"}</current_ecc>
			<pending_ecc>${eccUncorrected === null ? "Disabled" : "Enabled"}</pending_ecc>
		</ecc_mode>
		<ecc_errors>
			<volatile>
				<sram_correctable>${ecc}</sram_correctable>
				<sram_uncorrectable_parity>${ecc}</sram_uncorrectable_parity>
				<sram_uncorrectable_secded>${ecc}</sram_uncorrectable_secded>
				<dram_correctable>${ecc}</dram_correctable>
				<dram_uncorrectable>${eccUncorrected === null ? "N/A" : eccUncorrected}</dram_uncorrectable>
			</volatile>
			<aggregate>
				<sram_uncorrectable_parity>${ecc}</sram_uncorrectable_parity>
				<dram_uncorrectable>${ecc}</dram_uncorrectable>
			</aggregate>
		</ecc_errors>
		<processes>
${processes
  .map(
    ({ pid, usedMb: used }) => `			<process_info>
				<gpu_instance_id>N/A</gpu_instance_id>
				<compute_instance_id>N/A</compute_instance_id>
				<pid>${pid}</pid>
				<type>C</type>
				<process_name>python</process_name>
				<used_memory>${mib(used)}</used_memory>
			</process_info>`,
  )
  .join("\n")}
		</processes>
	</gpu>`;
}

/** The document of `nvidia-smi -q -x`. */
const driverXml = (gpus: readonly FakeGpu[]): string => `<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">
<nvidia_smi_log>
	<timestamp>Sun Nov 29 12:00:00 2026</timestamp>
	<driver_version>580.65.06</driver_version>
	<cuda_version>13.0</cuda_version>
	<attached_gpus>${gpus.length}</attached_gpus>
${gpus.map(gpuXml).join("\n")}
</nvidia_smi_log>
`;

/** The matrix of `nvidia-smi topo -m`: GPUs of one island are linked by NV18, others reach each other through PCI. */
export function topologyMatrix(islands: readonly (readonly number[])[], numaNodeOf: (gpu: number) => number): string {
  const gpus = islands.flat().sort((a, b) => a - b);
  const linked = (a: number, b: number): boolean => islands.some((island) => island.includes(a) && island.includes(b));
  const head = ["", ...gpus.map((gpu) => `GPU${gpu}`), "NIC0", "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"];
  const rows = gpus.map((gpu) =>
    [
      `GPU${gpu}`,
      ...gpus.map((peer) => (peer === gpu ? " X " : linked(gpu, peer) ? "NV18" : "SYS")),
      "NODE",
      `${numaNodeOf(gpu) * 32}-${numaNodeOf(gpu) * 32 + 31}`,
      String(numaNodeOf(gpu)),
      "N/A",
    ].join("\t"),
  );
  const nic = ["NIC0", ...gpus.map(() => "NODE"), " X ", "", "", ""].join("\t");
  const esc = String.fromCharCode(27);
  return `${esc}[4m${head.join("\t")}${esc}[0m\n${rows.join("\n")}\n${nic}\n\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)\n  NV#  = Connection traversing a bonded set of # NVLinks\n\nNIC Legend:\n\n  NIC0: mlx5_0\n`;
}

/** A folder with a program `nvidia-smi` that answers as told, and device nodes for what it lists. */
export class FakeNvidiaSmi {
  readonly dir: string;

  private constructor(dir: string) {
    this.dir = dir;
  }

  static async install(answer: FakeAnswer): Promise<FakeNvidiaSmi> {
    const fake = new FakeNvidiaSmi(await mkdtemp(join(tmpdir(), "fake-nvidia-smi-")));
    await mkdir(join(fake.dir, "bin"));
    await mkdir(join(fake.dir, "dev"));
    const program = `#!/bin/sh
cd '${fake.dir}' || exit 9
echo "$*" >> calls
if [ -f hangs ]; then exec sleep 600; fi
name=query
case "$*" in
  "topo -m") name=topo ;;
  *" -i "*) name="query-$(echo "$*" | sed 's/.* -i //' | tr : -)" ;;
esac
[ -f "$name.out" ] || exit 6
cat "$name.out"
[ -f "$name.err" ] && cat "$name.err" >&2
exit "$(cat "$name.code" 2>/dev/null || echo 0)"
`;
    const path = join(fake.dir, "bin", "nvidia-smi");
    await writeFile(path, program);
    await chmod(path, 0o755);
    await fake.answer(answer);
    return fake;
  }

  /** What the next call gets. */
  async answer(answer: FakeAnswer): Promise<void> {
    const put = (name: string, text: string) => writeFile(join(this.dir, name), text);
    await rm(join(this.dir, "hangs"), { force: true });
    if ("hangs" in answer) return await put("hangs", "");
    if ("stdout" in answer) {
      await put("query.out", answer.stdout);
      await put("query.err", answer.stderr ?? "");
      return await put("query.code", String(answer.code));
    }
    await put("query.out", `${answer.before ?? ""}${driverXml(answer.gpus)}`);
    await put("query.err", "");
    await put("query.code", "0");
    if (answer.topology !== undefined) await put("topo.out", answer.topology);
    for (const { minor } of answer.gpus) if (typeof minor === "number") await put(`dev/nvidia${minor}`, "");
  }

  /** What a query of the one GPU at `address` gets. */
  async answerFor(address: string, gpu: FakeGpu): Promise<void> {
    await writeFile(join(this.dir, `query-${address.replaceAll(":", "-")}.out`), driverXml([gpu]));
    await mkdir(join(this.dir, "driver", address), { recursive: true });
  }

  /** For `discoverGpus`. */
  get options() {
    return {
      env: { PATH: `${join(this.dir, "bin")}:/usr/bin:/bin` },
      deviceDir: join(this.dir, "dev"),
      driverDir: join(this.dir, "driver"),
    };
  }

  async remove(): Promise<void> {
    await rm(this.dir, { recursive: true, force: true });
  }
}
