/** What frameworks write when something fails, by what it says about the failure. */

export const outOfMemoryClass = /^(?:MemoryError|OutOfMemoryError|OutOfMemory)$/;
export const outOfMemory =
  /out[ _]of[ _]memory|RESOURCE_EXHAUSTED|cudaErrorMemoryAllocation|can't allocate memory|cannot allocate memory|CUBLAS_STATUS_ALLOC_FAILED|\bOOM(?:[- ]?kill\w*)?\b/i;

export const communicationClass =
  /^(?:CommError|PeerLost|CollectiveTimeout|DistError|DistBackendError|DistNetworkError|DistStoreError|ConnectionError|TimeoutError|BrokenBarrierError)$/;
export const communication =
  /\bNCCL\b|\bgloo\b.{0,60}(?:error|fail|timeout)|connection (?:reset|refused|closed|aborted)|broken pipe|timed? ?out|peer (?:lost|closed|died)|store (?:get|wait)|rendezvous/i;

/** A process group or context that the code under test did not set up, or tore down. */
export const uninitialized =
  /(?:process group|parallel group|distributed|communicator|world group|parallel state|model parallel|engine|scheduler|optimizer|buffer|cache|pool|store|state|context)\b.{0,50}\b(?:(?:is|was|has|have|been|are) ){0,3}(?:not|never|n't) (?:yet )?(?:been )?(?:initiali[sz]ed|set up)|(?:has|was|is)n't (?:been )?initiali[sz]ed|uninitiali[sz]ed (?:process group|group|engine|state|cache)|(?:use|using|access\w*) (?:a |an |of )?(?:destroyed|closed|freed|released|shut ?down) |(?:process group|communicator|engine).{0,40}\b(?:destroyed|already initiali[sz]ed)|initialize the default process group twice/i;

/** Frameworks whose own assertions guard their own state; their folders of assertions for tests are left out. */
export const productLibrary =
  /^(?:torch|torchvision|transformers|ray|triton|xformers|flash_attn|apex|transformer_engine|deepspeed|accelerate)\/(?!testing\/|.*\btest)/;

export const interfaceClass =
  /^(?:ImportError|ModuleNotFoundError|SyntaxError|IndentationError|AttributeError|NameError)$/;

/** A call that does not fit what it calls. */
export const signature =
  /(?:missing|takes|got an? (?:unexpected|multiple)|unexpected keyword) .{0,60}\bargument|got multiple values for|object is not (?:callable|iterable|subscriptable)|positional arguments? but|can't instantiate abstract class|fixture '[^'\n]*' not found/i;

/** Tensors on different devices: neither shape nor layout nor dtype. */
export const device =
  /same device|(?:two|different) devices|device mismatch|invalid device|\bis on (?:cpu|cuda\S*),? (?:but|and)|\b(?:cpu|cuda:\d+) (?:and|vs\.?|!=) (?:cpu|cuda:\d+)\b|input type \(.{0,60}\) and (?:weight|bias) type \([^)]{0,60}cuda|expected .{0,30}\b(?:cpu|cuda) tensor/i;

export const sizeMismatch = /size mismatch for |copying a param with shape|global shape mismatch/i;

export const stateDict =
  /(?:missing|unexpected) key(?:s|\(s\))?:? .{0,40}\b(?:state.?dict|checkpoint)|\b(?:missing|unexpected) key\(s\)|loaded state dict|state.?dict\b|(?:no|missing|corrupt\w*|incomplete|incompatible) checkpoint|checkpoint\b.{0,60}\b(?:missing|not found|corrupt\w*|incompatible|incomplete|does not (?:exist|contain|match)|no longer)|(?:not (?:found|present|in)|absent from|missing (?:from|in)) (?:the )?(?:loaded )?checkpoint|param(?:eter)?_?groups?\b.{0,60}\b(?:match|missing|differ)/i;

export const unpicklingClass = /^(?:UnpicklingError|CheckpointingException|CheckpointException|SafetensorError)$/;
export const unpickling =
  /weights only load failed|invalid load key|pickle data was truncated|PytorchStreamReader|ran out of input|failed finding central directory|unexpected EOF, expected|file (?:might be|is) corrupt\w*|unsupported pickle protocol|incomplete metadata|HeaderTooLarge|InvalidHeader|MetadataIncompleteBuffer/i;

export const shape = new RegExp(
  [
    // sizes, as torch and numpy tell of them
    /size mismatch|shape mismatch|mismatch(?:ed)? (?:in )?(?:its |the )?(?:shapes?|sizes?|dimensions?|core dimension)|sizes? of tensors?\b|tensors? sizes?\b.{0,40}\b(?:match|equal|must)/,
    /\bshapes? .{0,80}(?:cannot be multiplied|not aligned|incompatible|inconsistent|(?:do|does)(?: not|n't) match|differ|invalid|mismatch)/,
    /(?:must|expected to|should|need to) (?:match|have|be) .{0,60}\b(?:shape|dimensions?|dtype|ndim|contiguous|same size)\b|\.size\(-?\d+\) must be|must be (?:the same as|equal to) (?:the )?(?:input|output|target|world_size times)/,
    /(?:could|can) ?not (?:be )?broadcast|not broadcast|broadcast(?:ing)? .{0,30}(?:fail|mismatch)|incompatible shapes|cannot reshape|core dimension|array dimensions/,
    /expected size .{0,60}(?:but )?got|equal size|inconsistent tensor size|same number of dimensions|same (?:size|shape) as|(?:target|input|output) (?:batch_)?size .{0,60}(?:different|must|match)|to match target/,
    /expected .{0,40}\b\d+-?d(?:im\w*)?\b|expected \d+d|must be \d+-?d(?:imensional)?\b|\b[1-9]-?D tensors? expected|must be a matrix|required rank \d/,
    /(?:expected|wrong|bad|invalid|unexpected|mismatched|got|unsupported) .{0,30}\b(?:shapes?|dtypes?|strides?|layouts?|itemsize|ndim|dimensions?|scalar ?types?)\b/,
    /invalid for input of size|invalid shape dimension|dimension out of range|too many indices for (?:tensor|array)|(?:expanded|existing) size|number of (?:sizes|dims|dimensions)\b/,
    /channels?, but got|weight of size|input size .{0,40}(?:per channel|match|must)|normalized_shape|\bdimension \d+ .{0,60}(?:must|match|differ|got)|first two dimensions/,
    /\bdim(?:ension)? \d+ (?:has|is) size|last dimension|trailing dimension|leading dimension|head_dim .{0,40}(?:mismatch|not|must|expected)/,
    /output (?:tensor|split|buffer) (?:size|sizes)|input (?:tensor|split) sizes?\b|split_with_sizes|split sizes|batch sizes? .{0,30}(?:match|differ)|different (?:shapes|sizes|dtypes)|mixed dtypes/,
    /number of elements|elements? cannot be converted|only one element tensors|numel\b.{0,40}(?:match|differ|!=|mismatch)|buffer (?:is )?(?:smaller|too small)|wrong number of (?:rows|columns|elements)/,
    // memory layout
    /\bstrides?\b|(?:not|non|be|is)[- ]?contiguous|contiguous (?:last|memory|tensor)|memory[ _]format|channels_last|memory layout|row[- ]major|column[- ]major|misaligned (?!address)|is not aligned|alignment of/,
    // dtype
    /expected (?:scalar type|dtype)|dtypes? .{0,40}(?:mismatch|differ|must|do(?:es)?(?: not|n't) match|not supported|unsupported|unequal|got)|same (?:dtype|data type|scalar type)/,
    /found dtype|unknown dtype|unsupported (?:dtype|scalartype)|scalar ?types?|can't be cast to|cannot (?:safely )?cast|not implemented for '(?:Half|BFloat16|Float\w*|Double|Long|Int|Short|Byte|Char|Bool|Complex\w*)'/,
    /input type \(.{0,60}\) and (?:weight|bias) type \(|wrong (?:shape|dtype|itemsize)|data ?types? .{0,40}(?:mismatch|expected|got|not supported)|support\w* .{0,40}data ?types?|tensors used as indices must be/,
    /expected (?:floating point|long|int|half|float|double|bfloat16|bool)\b.{0,40}(?:got|found)|(?:fp16|bf16|float16|bfloat16|float32|fp8|int8)\b.{0,40}\bnot supported|only supports? .{0,40}(?:fp16|bf16|float16|bfloat16|fp8)/,
    /\bto have (?:dtype|shape|size)\b|shape '?[[(].{0,40}[\])]'? (?:is|vs|!=|but|does)|torch\.Size\(\[.{0,60}\]\) (?:vs\.?|!=|but|and expected|instead)/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "i",
);

/** Words of shape, layout and dtype wherever they stand. */
export const shapeWords = /\b(?:shapes?|dtypes?|itemsize|ndim|numel)\b|torch\.Size\(/i;

export const state =
  /\b(?:not|never) (?:yet )?(?:been )?initiali[sz]ed|before (?:it (?:is|was) )?initiali[sz]|uninitiali[sz]ed|(?:has|was|is)n't (?:been )?initiali[sz]ed|already (?:been )?(?:freed|closed|released|finished|destroyed|initiali[sz]ed|shut ?down|stopped|offloaded|unloaded|allocated|evicted)|(?:has|have) already been freed|double[- ]free|freed twice|use[- ]after[- ](?:free|close|release)|after (?:it |they )?(?:was|were|being|been|had been) (?:freed|closed|released|destroyed)|stale\b(?! file handle)|outdated|out[- ]of[- ]sync|not (?:yet )?(?:been )?sync(?:ed|hroni[sz]ed)|old weights|out of date (?:weights?|state|cache)|(?:weights?|state|policy|model|cache)[ _]version|(?:weights?|state|policy|model|cache)\b.{0,30}\bversion|version .{0,20}(?:is older|is stale|behind)|ref(?:erence)?[ _]?c(?:ou)?nt\b|never (?:freed|released|restored|reset)|still (?:held|allocated|referenced|pinned|in use)|leak(?:ed|s)?\b.{0,30}(?:block|handle|page|slot|buffer|request)|(?:block|page|slot|handle|request|buffer)s?\b.{0,30}\bleak|not (?:been )?(?:allocated|restored|saved|reset)\b|free list|was (?:evicted|detached|overwritten|lost)|unknown (?:block|request|handle|page)|(?:block|page) table|(?:is|was) (?:not|no longer) (?:in|part of) the (?:pool|cache|free list)|resum(?:e|ed|ing)\b.{0,40}(?:state|step|fail|mismatch)|(?:no|without|lost|missing) (?:saved |optimizer |rng |scheduler )(?:state|moments?)|momentum|exp_avg|rng state|optimizer state|master (?:weights?|params?)|\brestor(?:e|ed|ing)\b|checkpoint ?value|(?:step|iteration|epoch)s? .{0,40}(?:mismatch|does not match)/i;

/** Words of what is saved and restored wherever they stand. */
export const stateWords = /\bcheckpoints?\b|\bckpt\b|latest_checkpointed|\bresum(?:e|ed|ing)\b|\bre-?shard/i;

const stateNouns =
  "states?|state_?dicts?|checkpoints?|ckpt|sharded\\w*|optimizer|optim|buffers?|blocks?|cache|weights|rng\\w*|slots?|pages?";

/** A function whose work is to carry, save, restore or free. */
export const stateFunction = new RegExp(
  String.raw`(?:^|\.)_*(?:(?:load|save|restore|resume|reload|reset|free|release|close|sync|import|export|gather|merge|reshard|init)_*(?:\w+_)?(?:${stateNouns})\w*|(?:from|to)_(?:checkpoint|state\w*)|(?:\w+_)?state_dict|__(?:get|set)state__|restore|resume|deallocate|free)$`,
  "i",
);

/** Raised where something that should have been carried is not there. */
export const lostInState = /^(?:KeyError|FileNotFoundError|EOFError)$/;
/** Raised by a function whose own work failed. */
export const failedInState = /^(?:ValueError|RuntimeError|IndexError|LookupError|AssertionError|OSError)$/;

export const shapeCode =
  /\.(?:shape|dtype|ndim|strides?|itemsize)\b|\.(?:size|dim|stride|numel)\(|is_contiguous|\bshapes?\b|\bdtypes?\b/;
export const shapeFunction =
  /(?:^|[._])(?:check|validate|assert|verify|ensure|infer)_(?:\w+_)?(?:shapes?|dtypes?|sizes?|strides?|layouts?|dims?)$/i;
export const stateCode =
  /ref_?c(?:ou)?nt|\bfreed?\b|is_?(?:initialized|closed|free)|_?initialized\b|(?:weights?|state|policy)_?version|block_table|state_dict|\b_?closed\b/i;
