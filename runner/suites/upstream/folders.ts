import { join, resolve } from "node:path";
import { environment } from "../../environment";

/** `.data`, or what INFRADEV_DATA_DIR names. */
export const dataFolder = (): string => resolve(environment.variables.INFRADEV_DATA_DIR || ".data");

/** Where layers are kept: `base/<tree>` and `change/<key>`. */
export const layersFolder = (): string => join(dataFolder(), "layers");
