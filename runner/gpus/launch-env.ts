import type { GpuGrant } from "./grant";

/**
 * Defaults of a launch that has GPUs, which a group's own variables may change: NVLink SHARP off, since it needs a
 * fabric manager that a sandboxed launch cannot reach; and the caches of compiled kernels below `temporary`, which is
 * the launch's own, so that no launch finds what another left.
 */
export function gpuLaunchEnv(grant: GpuGrant | null, temporary: string): Record<string, string> {
  if (grant === null) return {};
  const cache = (name: string): string => `${temporary}/cache/${name}`;
  return {
    NCCL_NVLS_ENABLE: "0",
    CUDA_CACHE_PATH: cache("cuda"),
    TRITON_CACHE_DIR: cache("triton"),
    TORCHINDUCTOR_CACHE_DIR: cache("inductor"),
    TORCH_EXTENSIONS_DIR: cache("torch-extensions"),
    XDG_CACHE_HOME: cache("xdg"),
  };
}

/** What decides which GPUs a launch sees, in the order of its ranks; without a grant none. A group cannot change it. */
export function gpuChoiceEnv(grant: GpuGrant | null): Record<string, string> {
  if (grant === null) return { CUDA_VISIBLE_DEVICES: "" };
  return { CUDA_VISIBLE_DEVICES: grant.uuids.join(","), CUDA_DEVICE_ORDER: "PCI_BUS_ID" };
}
