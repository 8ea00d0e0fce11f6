/*
 * A libnvidia-ml.so.1 for tests: NVML's ABI, with values from the file STATE, named when it is compiled and read at every
 * call. One line a GPU: UUID, code of each call, used bytes, processes, KiB sent and received over NVLink, uncorrected
 * errors.
 */
#include <stdio.h>
#include <string.h>

typedef int nvmlReturn_t;
typedef struct { unsigned int version; unsigned long long total, reserved, free, used; } nvmlMemory_v2_t;
typedef struct { unsigned int pid; unsigned long long usedGpuMemory; unsigned int gpuInstanceId, computeInstanceId; } nvmlProcessInfo_t;
typedef struct {
  unsigned int fieldId, scopeId;
  long long timestamp, latencyUsec;
  unsigned int valueType, nvmlReturn;
  unsigned long long value;
} nvmlFieldValue_t;
typedef struct { char uuid[96]; int code; unsigned long long used, processes, sent, received, errors; } Gpu;

enum { NVML_SUCCESS, NVML_ERROR_INVALID_ARGUMENT = 2, NVML_ERROR_NOT_SUPPORTED = 3, NVML_ERROR_NOT_FOUND = 6 };

static Gpu gpus[8];

static int load(void) {
  FILE *file = fopen(STATE, "r");
  if (!file) return 0;
  int count = 0;
  while (count < 8) {
    Gpu *gpu = &gpus[count];
    if (fscanf(file, "%95s %d %llu %llu %llu %llu %llu", gpu->uuid, &gpu->code, &gpu->used, &gpu->processes, &gpu->sent,
               &gpu->received, &gpu->errors) != 7)
      break;
    count++;
  }
  fclose(file);
  return count;
}

static Gpu *look(void *handle) {
  load();
  return &gpus[(long)handle - 1];
}

nvmlReturn_t nvmlInit_v2(void) { return load() > 0 ? NVML_SUCCESS : 9; }

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length) {
  snprintf(version, length, "580.1");
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, void **handle) {
  int count = load();
  for (int at = 0; at < count; at++)
    if (strcmp(gpus[at].uuid, uuid) == 0) {
      *handle = (void *)(long)(at + 1);
      return NVML_SUCCESS;
    }
  return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(void *handle, nvmlMemory_v2_t *memory) {
  Gpu *gpu = look(handle);
  if (memory->version != (sizeof(nvmlMemory_v2_t) | 2 << 24)) return NVML_ERROR_INVALID_ARGUMENT;
  memory->total = 1ULL << 37;
  memory->reserved = 1ULL << 20;
  memory->used = gpu->used;
  memory->free = memory->total - memory->reserved - memory->used;
  return gpu->code;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned int *count, nvmlProcessInfo_t *infos) {
  Gpu *gpu = look(handle);
  if (*count < gpu->processes) return 7;
  *count = (unsigned int)gpu->processes;
  for (unsigned int at = 0; at < *count; at++) infos[at] = (nvmlProcessInfo_t){100 + at, gpu->used, 0, 0};
  return gpu->code;
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(void *handle, int type, int counter, unsigned long long *errors) {
  Gpu *gpu = look(handle);
  if (type != 1 || counter != 0) return NVML_ERROR_INVALID_ARGUMENT;
  *errors = gpu->errors;
  return gpu->code;
}

nvmlReturn_t nvmlDeviceGetFieldValues(void *handle, int count, nvmlFieldValue_t *values) {
  Gpu *gpu = look(handle);
  for (int at = 0; at < count; at++) {
    /* A GPU named GPU-links... has two links and no sum of them: all but one KiB went over the first. */
    int summed = strncmp(gpu->uuid, "GPU-links", 9) != 0;
    unsigned long long counted = values[at].fieldId == 138 ? gpu->sent : gpu->received;
    int scoped = summed ? values[at].scopeId == 0xFFFFFFFFu : values[at].scopeId < 2;
    int known = scoped && (values[at].fieldId == 138 || values[at].fieldId == 139);
    values[at].nvmlReturn = known ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
    values[at].valueType = 3;
    values[at].value = summed ? counted : values[at].scopeId == 0 ? counted - 1 : 1;
  }
  return gpu->code;
}
