/** What frameworks write when something fails, by what it says about the failure. */

export const outOfMemoryClass = /^(?:MemoryError|OutOfMemoryError|OutOfMemory)$/;
export const outOfMemory =
  /\bout of memory\b|can't allocate memory|cannot allocate memory|CUBLAS_STATUS_ALLOC_FAILED|\bOOM(?:[- ]?kill\w*)?\b/i;

export const communicationClass =
  /^(?:CommError|PeerLost|CollectiveTimeout|DistError|DistBackendError|DistNetworkError|DistStoreError|ConnectionError|TimeoutError|BrokenBarrierError)$/;
export const communication =
  /\bNCCL\b|\bgloo\b.{0,60}(?:error|fail|timeout)|connection (?:reset|refused|closed|aborted)|broken pipe|timed? ?out|peer (?:lost|closed|died)|store (?:get|wait)|rendezvous/i;

/** A process group or context that the code under test did not set up, or tore down. */
export const uninitialized =
  /(?:process group|parallel group|communicator|world group|parallel state|model parallel|engine|scheduler|optimizer|buffer|cache|pool|store|state|context)\b.{0,50}\b(?:(?:is|was|has|have|been|are) ){0,3}(?:not|never) (?:yet )?(?:been )?(?:initiali[sz]ed|set up)|(?:use|using|access\w*) (?:a |an |of )?(?:destroyed|closed|freed|released|shut ?down) |(?:process group|communicator|engine).{0,40}\b(?:destroyed|already initiali[sz]ed)|initialize the default process group twice/i;

export const interfaceClass =
  /^(?:ImportError|ModuleNotFoundError|SyntaxError|IndentationError|AttributeError|NameError)$/;

/** A call that does not fit what it calls. */
export const signature =
  /(?:missing|takes|got an? (?:unexpected|multiple)|unexpected keyword) .{0,60}\bargument|got multiple values for|object is not (?:callable|iterable|subscriptable)|positional arguments? but|can't instantiate abstract class|fixture '[^'\n]*' not found|not implemented/i;

export const sizeMismatch = /size mismatch for |copying a param with shape|global shape mismatch/i;

export const stateDict =
  /(?:missing|unexpected) key(?:s|\(s\))?:? .{0,40}\b(?:state.?dict|checkpoint)|\b(?:missing|unexpected) key\(s\)|loaded state dict|state.?dict\b|(?:no|missing|corrupt\w*|incomplete|incompatible) checkpoint|checkpoint\b.{0,60}\b(?:missing|not found|corrupt\w*|incompatible|incomplete|does not (?:exist|contain|match)|no longer)|(?:not (?:found|present|in)|absent from|missing (?:from|in)) (?:the )?(?:loaded )?checkpoint|param(?:eter)?_?groups?\b.{0,60}\b(?:match|missing|differ)/i;

export const unpicklingClass = /^(?:UnpicklingError|CheckpointingException|CheckpointException|SafetensorError)$/;
export const unpickling =
  /weights only load failed|invalid load key|pickle data was truncated|PytorchStreamReader|ran out of input|failed finding central directory|unsupported pickle protocol|incomplete metadata|HeaderTooLarge|InvalidHeader|MetadataIncompleteBuffer/i;

export const shape = new RegExp(
  [
    // torch and numpy on sizes
    /size mismatch|shape mismatch|sizes? of tensors?\b|tensors? sizes?\b.{0,40}\b(?:match|equal|must)/.source,
    /\bshapes? .{0,80}(?:cannot be multiplied|not aligned|incompatible|inconsistent|(?:do|does)(?: not|n't) match|differ|invalid|mismatch)/
      .source,
    /(?:must|expected to|should) (?:match|have|be) .{0,60}\b(?:size|shape|dimensions?|dtype|ndim|contiguous)\b/.source,
    /could not be broadcast|cannot be broadcast|not broadcastable|broadcast(?:ing)? .{0,30}(?:fail|mismatch)/.source,
    /expected size .{0,60}(?:but )?got|equal size|inconsistent tensor size|same number of dimensions/.source,
    /expected .{0,40}\b\d+-?d(?:im\w*)?\b|expected \d+d|must be \d+-?d(?:imensional)?\b|\b[1-9]D tensors? expected|must be a matrix/
      .source,
    /(?:expected|wrong|bad|invalid|unexpected|mismatched|got|unsupported) .{0,30}\b(?:shapes?|dtypes?|strides?|layouts?|itemsize|ndim|dimensions?|scalar ?types?)\b/
      .source,
    /invalid for input of size|invalid shape dimension|dimension out of range|too many indices for (?:tensor|array)|(?:expanded|existing) size|number of (?:sizes|dims|dimensions)\b/
      .source,
    /channels?, but got|weight of size|input size .{0,40}(?:per channel|match|must)|mat[12]\b|\bdimension \d+ .{0,60}(?:must|match|differ|got)/
      .source,
    /\bdim(?:ension)? \d+ (?:has|is) size|last dimension|trailing dimension|leading dimension|head_dim .{0,40}(?:mismatch|not|must|expected)/
      .source,
    /output (?:tensor|split|buffer) (?:size|sizes)|input (?:tensor|split) sizes?\b|split_with_sizes|split sizes|batch sizes? .{0,30}(?:match|differ)/
      .source,
    /number of elements|numel\b.{0,40}(?:match|differ|!=|mismatch)|buffer (?:is )?(?:smaller|too small)|wrong number of (?:rows|columns|elements)/
      .source,
    // memory layout
    /\bstrides?\b|(?:not|non|be|is)[- ]?contiguous|memory[ _]format|memory layout|row[- ]major|column[- ]major|misaligned|is not aligned|alignment of/
      .source,
    // dtype
    /expected (?:scalar type|dtype)|dtypes? .{0,40}(?:mismatch|differ|must|do(?:es)?(?: not|n't) match|not supported|unsupported|unequal|got)|same (?:dtype|data type|scalar type)/
      .source,
    /found dtype|unknown dtype|unsupported (?:dtype|scalartype)|scalar ?type|can't be cast to|cannot (?:safely )?cast|not implemented for '(?:\w*(?:Half|BFloat16|Float\w*|Double|Long|Int|Short|Byte|Char|Bool|Complex\w*))'/
      .source,
    /input type \(.{0,60}\) and (?:weight|bias) type \((?!.*cuda)|wrong (?:shape|dtype|itemsize)|data type .{0,40}(?:mismatch|expected|got|not supported)/
      .source,
    /\bto have (?:dtype|shape|size)\b|shape '?[[(].{0,40}[\])]'? (?:is|vs|!=|but|does)|torch\.Size\(\[.{0,60}\]\) (?:vs\.?|!=|but|and expected|instead)/
      .source,
  ].join("|"),
  "i",
);

export const state =
  /\b(?:not|never) (?:yet )?(?:been )?initiali[sz]ed|before (?:it (?:is|was) )?initiali[sz]|already (?:been )?(?:freed|closed|released|finished|destroyed|initiali[sz]ed|shut ?down|stopped|started|registered|offloaded|unloaded|allocated|in use)|(?:has|have) already been freed|double[- ]free|freed twice|use[- ]after[- ](?:free|close|release)|after (?:it |they )?(?:was|were|being|been|had been) (?:freed|closed|released|destroyed)|stale\b|out of date (?:weights?|state|cache)|weights?[ _]version|state version|version .{0,20}(?:mismatch|is older|is stale|behind)|ref(?:erence)?[ _]?c(?:ou)?nt\b|never (?:freed|released|restored|reset)|still (?:held|allocated|referenced|pinned|in use)|leak(?:ed|s)?\b.{0,30}(?:block|handle|page|slot|buffer|request)|(?:block|page|slot|handle|request|buffer)s?\b.{0,30}\bleak|not (?:been )?(?:allocated|restored|saved|reset)\b|free (?:block|list|pool)|unknown (?:block|request|handle|page)|(?:block|page) table|(?:is|was) (?:not|no longer) (?:in|part of) the (?:pool|cache|free list)|resum(?:e|ed|ing)\b.{0,40}(?:state|step|fail|mismatch)|(?:no|without|lost|missing) (?:saved |optimizer |rng |scheduler )(?:state|moments?)|momentum|exp_avg|rng state|optimizer state|master (?:weights?|params?)/i;

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
