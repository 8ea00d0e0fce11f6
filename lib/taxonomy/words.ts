/** What frameworks write when something fails, by what it says about the failure. */

export const outOfMemoryClass = /^_?(?:Array)?(?:MemoryError|OutOfMemoryError|OutOfMemory)$/;
export const outOfMemory =
  /out[ _]of[ _]memory|not enough (?:GPU |host |free |device )?memory|no available memory|unable to allocate [\d.]+ ?[KMGT]i?B|free memory on device|RESOURCE_EXHAUSTED|cudaErrorMemoryAllocation|can't allocate memory|cannot allocate memory|CUBLAS_STATUS_ALLOC_FAILED|\bOOM(?:[- ]?kill\w*)?\b/i;

/** What a launcher says of a child that left no word of its own. */
export const childClass = /^(?:ChildFailedError|ProcessExitedException)$/;

export const communicationClass =
  /^(?:CommError|PeerLost|CollectiveTimeout|DistError|DistBackendError|DistNetworkError|DistStoreError|ConnectionError|TimeoutError|BrokenBarrierError|ConnectionClosed\w*|Connect(?:ion)?(?:Error|Timeout|ResetError|RefusedError|AbortedError)|BrokenPipeError|ReadTimeout|ServerDisconnectedError|ClientConnectorError|RemoteProtocolError|Rendezvous\w+Error|GetTimeoutError|ActorUnavailableError|RpcError|gaierror)$/;
export const communication =
  /\bNCCL\b|\bgloo\b.{0,60}(?:error|fail|timeout)|connection (?:reset|refused|closed|aborted)|broken pipe|timed? ?out|peer (?:lost|closed|died)|store (?:get|wait)|rendezvous/i;

/** A process group, context or tensor that the code under test did not set up, or tore down. */
export const uninitialized =
  /meta tensor|data is not allocated yet|uninitiali[sz]ed param|\bgroup\b.{0,100} is not registered|Ray has not been started|(?:process group|parallel group|distributed|communicator|world group|parallel state|model parallel|engine|scheduler|optimizer|buffer|cache|pool|store|state|context)\b.{0,50}\b(?:(?:is|was|has|have|been|are) ){0,3}(?:not|never|n't) (?:yet )?(?:been )?(?:initiali[sz]ed|set up)|(?:has|was|is)n't (?:been )?initiali[sz]ed|uninitiali[sz]ed (?:process group|group|engine|state|cache)|(?:use|using|access\w*) (?:a |an |of )?(?:destroyed|closed|freed|released|shut ?down) |(?:process group|communicator|engine).{0,40}\b(?:destroyed|already initiali[sz]ed)|initialize the default process group twice/i;

export const interfaceClass =
  /^(?:ImportError|ModuleNotFoundError|SyntaxError|IndentationError|AttributeError|NameError|Config(?:Attribute|Key|Type|Index|Value)Error|Missing(?:MandatoryValue|ConfigException)|ConfigCompositionException|OverrideParseException|Interpolation\w+Error|ReadonlyConfigError|KeyValidationError|PicklingError|Unsupported|ArgumentError|UsageError)$/;

/** A call that does not fit what it calls. */
export const signature =
  /(?:missing|takes|got an? (?:unexpected|multiple)|unexpected keyword) .{0,60}\bargument|got multiple values for|object is not (?:callable|iterable|subscriptable)|positional arguments? but|can't instantiate abstract class|unrecognized arguments|invalid choice: |following arguments are required|can't pickle|cannot pickle|fixture '[^'\n]*' not found/i;

/** Tensors on different devices or of different kinds: neither shape nor layout nor dtype. */
export const device =
  /mixed torch\.Tensor and DTensor|\bDTensors?\b.{0,60}\b(?:plain|regular|torch\.Tensor)|(?:plain|regular|torch\.Tensor)\b.{0,60}\bDTensors?\b|convert cuda\S* device type tensor|device type tensor to numpy|(?:on|to be on|got|expected) (?:the )?(?:device )?(?:cpu|cuda\S*|meta)\b.{0,40}\b(?:but|and|got|found)\b.{0,40}\b(?:cpu|cuda|meta)\b|same device|(?:two|different) devices|device mismatch|invalid device|\bis on (?:cpu|cuda\S*),? (?:but|and)|\b(?:cpu|cuda:\d+) (?:and|vs\.?|!=) (?:cpu|cuda:\d+)\b|input type \(.{0,60}\) and (?:weight|bias) type \([^)]{0,60}cuda|expected .{0,30}\b(?:cpu|cuda) tensor/i;

export const sizeMismatch = /size mismatch for |copying a param with shape|global shape mismatch/i;

/** Keys of a state that are not there or not known; their names may hold any word. */
export const keys = /\b(?:missing|unexpected) keys?\b/i;

export const stateDict =
  /(?:missing|unexpected) key(?:s|\(s\))?:? .{0,40}\b(?:state.?dict|checkpoint)|\b(?:missing|unexpected) key\(s\)|loaded state dict|state.?dict\b|(?:no|missing|corrupt\w*|incomplete|incompatible) checkpoint|checkpoint\b.{0,60}\b(?:missing|not found|corrupt\w*|incompatible|incomplete|does not (?:exist|contain|match)|no longer)|(?:not (?:found|present|in)|absent from|missing (?:from|in)) (?:the )?(?:loaded )?checkpoint|param(?:eter)?_?groups?\b.{0,60}\b(?:match|missing|differ)/i;

/** Classes that name a state that could not be kept, restored or used. */
export const stateClass =
  /^(?:BadZipFile|BadGzipFile|\w*(?:Unpickl|Checkpoint|Safetensor|Stale|DoubleFree|DoubleRelease|UseAfter|Uninitiali[sz]ed|Not(?:Yet)?Initiali[sz]ed|Already(?:Initiali[sz]ed|Freed|Closed|Released|Started)|Restore|Resum|Snapshot|StateDict|Lifecycle|Ref(?:erence)?Count|ObjectFreed|Evicted|NotLoaded)\w*(?:Error|Exception|Parameter)|\w*(?:Closed|Released|Freed)(?:Error|Exception)|UninitializedParameter|QueueShutDown|ReferenceError|BufferError|\w*(?:WeightVersion|StateVersion|UnknownBlock|UnknownRequest|UnknownSlot|BlockNotFound|RequestNotFound|SlotNotFound|UnknownHandle)\w*)$/;

/** Classes that name a shape, a layout or a dtype. */
export const shapeClass =
  /^(?:EinopsError|AxisError|_?UFunc(?:NoLoop|\w*Casting|\w*TypeResolution\w*)Error|DTypePromotionError|\w*(?:Shape|D[tT]ype|Stride|NumDims|Dimension|Contigu|Alignment|MemoryLayout|TensorLayout|SizeMismatch|Broadcast)\w*(?:Error|Exception|Mismatch|Violation)|\w*(?:SizeMismatch))$/;

export const unpickling =
  /weights only load failed|invalid load key|pickle data was truncated|PytorchStreamReader|ran out of input|failed finding central directory|unexpected EOF, expected|file (?:might be|is) corrupt\w*|unsupported pickle protocol|can't get attribute '|attempting to deserialize object on|failed to validate global plan|incomplete metadata|HeaderTooLarge|InvalidHeader|MetadataIncompleteBuffer/i;

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
    /\b(?:shapes?|dtypes?|strides?)\b.{0,60}\b(?:changed|expects?|expected|but|instead|vs|differs?|does not)\b/,
    /\b(?:half|double|b?float\d+|bf16|fp\d+|u?int\d+)\b.{0,40}\b(?:but|expected|got|found|instead of|vs|into)\b.{0,30}\b(?:half|double|b?float\d+|bf16|fp\d+|u?int\d+)\b/,
    /same reduction dim|preamble\.length <= |jaxtyping|different metadata than during the forward|has an inhomogeneous|zero-size array|negative dimension|not resizable|single memory location|misaligned address|unscale FP16 gradients/,
    /expected sequence of length \d+ at dim|(?:size|length)-1 arrays|only for scalar outputs|single element tensors?|type promotion|floating[- ]point|as a data type|converted to type (?:at::|torch\.)|\b(?:head_dim|in_features|out_features|dims?|dimension|[KNM])\b.{0,40}\b(?:multiple of|divisible by)|\.size\(-?\d\) (?:must|should|does)|integer scalar arrays|must be of integer \(or boolean\)|arrays? must (?:be|have) .{0,30}same length|multiple of element size|rank mismatch|tensors of a single element/,
    /unequal (?:chunks?|sizes?|lengths?)|equal (?:chunks?|lengths?)\b|got size of|not supported for the input types|signature matching types|data type '.{1,40}' not understood|can't convert np\.ndarray of type|too many dimensions|incompatible dimensions?|not compatible for matmul/,
    /(?:shape|(?<!world[ _])size|dims?|dimension|length|numel|elements|rows|columns)\b.{0,30}(?:mismatch|!=|does not match|do not match|don't match|doesn't match|disagree|differs?\b)|mismatch(?:ed|ing)? .{0,40}\b(?:shapes?|sizes?|dims?|dimensions?|dtypes?|lengths?|strides?)\b/,
    /\bto have (?:dtype|shape|size)\b|shape '?[[(].{0,40}[\])]'? (?:is|vs|!=|but|does)|torch\.Size\(\[.{0,60}\]\) (?:vs\.?|!=|but|and expected|instead)/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "i",
);

/** Words of shape, layout and dtype wherever they stand. */
export const shapeWords =
  /\b\w*(?:shape|dtype|itemsize|ndim|numel)s?\b|torch\.Size\(|\b[1-5]-?d (?:tensor|array|input)|\btensor of size\b|\bbytes? align|\bunaligned\b|\btranspos\w+|\bmemory layout|\bfloat8_\w+|\bscalar type|\b(?:half|bfloat16|float16|float32|fp16|bf16|fp8|int8|int4|int32|int64)\b.{0,40}\b(?:expected|got|but|required|requires|found|not supported|unsupported|only)\b|\b(?:expected|got|expects?|requires?|only|unsupported|found)\b.{0,40}\b(?:half|bfloat16|float16|float32|fp16|bf16|fp8|int8|int4|int32|int64)\b/i;

/** What a pickle names when its classes are not where they were. */
export const unpicklerFrame = /(?:^|\/)(?:torch\/serialization|_?pickle|cloudpickle\/\w+)\.py$/;
export const unpicklerFunction = /(?:^|\.)(?:_?load|_?loads|find_class|_legacy_load|_rebuild\w*)$/;

export const state =
  /\b(?:not|never) (?:yet )?(?:been )?initiali[sz]ed|before (?:it (?:is|was) )?initiali[sz]|uninitiali[sz]ed|(?:has|was|is)n't (?:been )?initiali[sz]ed|already (?:been )?(?:freed|closed|released|finished|destroyed|initiali[sz]ed|shut ?down|stopped|offloaded|unloaded|allocated|evicted)|(?:has|have) already been freed|double[- ]free|freed twice|use[- ]after[- ](?:free|close|release)|after (?:it |they )?(?:was|were|being|been|had been) (?:freed|closed|released|destroyed)|stale\b(?! file handle)|outdated|out[- ]of[- ]sync|not (?:yet )?(?:been )?sync(?:ed|hroni[sz]ed)|old weights|out of date (?:weights?|state|cache)|(?:weights?|state|policy|model|cache)[ _]version|(?:weights?|state|policy|model|cache)\b.{0,30}\bversion|version .{0,20}(?:is older|is stale|behind)|ref(?:erence)?[ _]?c(?:ou)?nt\b|never (?:freed|released|restored|reset)|still (?:held|allocated|referenced|pinned|in use)|leak(?:ed|s)?\b.{0,30}(?:block|handle|page|slot|buffer|request)|(?:block|page|slot|handle|request|buffer)s?\b.{0,30}\bleak|not (?:been )?(?:allocated|restored|saved|reset)\b|free list|was (?:evicted|detached|overwritten|lost)|unknown (?:block|request|handle|page)|(?:block|page) table|(?:is|was) (?:not|no longer) (?:in|part of) the (?:pool|cache|free list)|resum(?:e|ed|ing)\b.{0,40}(?:state|step|fail|mismatch)|(?:no|without|lost|missing) (?:saved |optimizer |rng |scheduler )(?:state|moments?)|momentum|exp_avg|rng state|optimizer state|master (?:weights?|params?)|\brestor(?:e|ed|ing)\b|checkpoint ?value|modified by an inplace operation|\btwice\b|already been set\b|invalid python storage|no longer exists|rng_state|\b(?:reused|freed|released|overwritten) before\b|while .{0,60}\bin flight\b|current state is|(?:invalid|illegal|unexpected|wrong) (?:lifecycle )?state\b|state transition|training state|(?:step|iteration|epoch)s? .{0,40}(?:mismatch|does not match)/i;

/** Things that live in a table or a pool while they are in use. */
const kept =
  "(?:blocks?|slots?|pages?|requests?|handles?|sequences?|seq(?:_?id)?s?|adapters?|sessions?|leases?|buffers?|buckets?|snapshots?|tensors?|storages?|shards?)";

/** What was freed, closed, lost, unknown, begun twice or used too early, in a project's own words. */
export const lifecycle = new RegExp(
  [
    `\\b${kept}\\b.{0,60}\\b(?:not found|(?:is |are )?unknown|does not exist|not known|no longer|not (?:tracked|registered|mapped|owned)|already (?:exists|registered|in use|taken|assigned|mapped)|(?:is|was|are|were) missing)\\b`,
    `\\b(?:no such|unknown|unregistered|missing|dangling|orphan(?:ed)?) ${kept}\\b`,
    "\\b(?:has|have|had) (?:already |since )?been (?:freed|closed|released|deleted|destroyed|evicted|invalidated|donated|finali[sz]ed|shut ?down|reclaimed|recycled|reused|overwritten|discarded|offloaded|unloaded|moved|consumed)\\b",
    "\\b(?:was|were|is|are|been|being|got) (?:already |since |concurrently )?(?:freed|released|evicted|overwritten|reclaimed|recycled|discarded|invalidated|deallocated|unmapped|garbage[- ]collected|reused)\\b",
    "\\b(?:on|of|from|using|to|into|in) (?:an? |the )?(?:already )?(?:closed|freed|released|destroyed|terminated|shut[- ]?down|stopped|deleted|evicted|finali[sz]ed) (?!connection|socket|transport|pipe|peer)",
    "\\bafter (?:\\w+ ){0,2}(?:shutdown|close|free|release|destroy|teardown|exit|reset|del)\\b",
    "\\b(?:event loop|pool|session|channel|file|handle|cache|engine|executor|writer|reader|buffer|stream|allocator|manager|client|mmap) (?:is |was )?(?:already )?(?:closed|shut ?down|not running|stopped|terminated)",
    "\\b(?:before|without) (?:\\w+ ){0,4}(?:initiali[sz]\\w*|set ?up|started|load(?:ed|ing)|restor\\w+|allocat\\w+|wake_?up|prepare\\w*|saving|begin)\\b",
    "\\bcall(?:ed)? [\\w.()]{1,60} (?:first|before)\\b|\\b(?:is|was|been) called before\\b|\\bmust be called before\\b|\\bhas already been called\\b",
    "\\b(?:already|never|not yet|not) (?:been )?(?:started|attached|bound|saved|torn down|disposed|loaded|captured|materiali[sz]ed|unsharded|flushed|committed)\\b",
    "\\b(?:weights?|state|checkpoint|snapshot|shard|format|policy|manifest|schema)[ _]?(?:format )?version\\b|\\bversion of (?:the )?(?:weights?|state|checkpoint|snapshot|policy)\\b|\\b(?:weights?|policy|params?) (?:lag|are behind|is behind|from step)",
    "\\b(?:shard|checkpoint|snapshot|archive|manifest|metadata|blob|header|state|weights?|optimizer)\\b.{0,60}\\b(?:truncated|corrupt\\w*|incomplete|missing|torn|damaged|not found|does not exist|lost|stale)\\b",
    "\\b(?:truncated|corrupt\\w*|incomplete|missing|torn|damaged|stale)\\b.{0,40}\\b(?:shard|checkpoint|snapshot|archive|manifest|metadata|blob|header|state|weights?|optimizer)\\b",
    "\\b(?:checksum|digest|crc(?:32)?|sha256|hash)\\b.{0,40}\\b(?:mismatch|does not match|differs?|wrong|failed)\\b",
    "(?:no file named|have a file named|no such file or directory: ).{0,300}(?:pytorch_model|\\.safetensors|\\.distcp|\\.metadata|\\.ckpt|\\.pth?\\b|checkpoint|ckpt|latest|global_step_?\\d|iter_\\d)",
  ].join("|"),
  "i",
);

/** A look-up in a table of blocks, slots or requests. */
export const stateTable =
  /(?:block|slot|page|req(?:uest)?|seq|handle)s?_?(?:tables?|map(?:ping)?|to_\w+|pool|ids?|states?|registry|cache)?s?\[|\b_?(?:requests|blocks|slots|pages|handles|block_tables?|running|waiting)\.(?:pop|remove)\(/i;

/** Words of what is saved and restored wherever they stand. */
export const stateWords = /\bcheckpoints?\b|\bckpt\b|latest_checkpointed|\bresum(?:e|ed|ing)\b|\bre-?shard/i;

const stateNouns =
  "states?|state_?dicts?|snapshots?|shards?|requests?|models?|adapters?|lora\\w*|ema\\w*|params?|kv\\w*|checkpoints?|ckpt|sharded\\w*|optimizer|optim|buffers?|blocks?|cache|weights|rng\\w*|slots?|pages?";

/** A function whose work is to carry, save, restore or free. */
export const stateFunction = new RegExp(
  String.raw`(?:^|\.)_*(?:(?:load|save|restore|resume|reload|reset|free|release|close|sync|import|export|gather|merge|reshard|init|read|write|evict|swap_?(?:in|out)|offload|onload|commit)_*(?:\w+_)?(?:${stateNouns})\w*|(?:from|to)_(?:checkpoint|state\w*)|(?:\w+_)?state_dict|__(?:get|set)state__|(?:restore|resume|reload|rollback|unpickle|reset|release|free|evict|deallocate|destroy|teardown|shutdown)(?:_\w+)?|close|checkpoint|snapshot|swap_(?:in|out))$`,
  "i",
);

/** A file whose work is to save and restore. */
export const stateFile =
  /(?:^|[/_])(?:\w*checkpoint\w*|ckpt\w*|state_dict\w*|snapshots?|serialization|restore\w*|resume\w*)\.py$/i;

/** Raised where something that should have been carried is not there. */
export const lostInState = /^(?:KeyError|FileNotFoundError|EOFError|JSONDecodeError|NotADirectoryError)$/;
/** Raised by a function whose own work failed. */
export const failedInState = /^(?:ValueError|RuntimeError|AssertionError)$/;
/** Raised by a reader of bytes, of which a truncated file has too few. */
export const brokenBytes = /^(?:error|JSONDecodeError|UnicodeDecodeError)$/;

export const shapeCode =
  /\.(?:shape|dtype|ndim|strides?|itemsize)\b|\.(?:size|dim|stride|numel)\(|is_contiguous|\bshapes?\b|\bdtypes?\b/;
export const shapeFunction =
  /(?:^|[._])(?:check|validate|assert|verify|ensure|infer)_(?:\w+_)?(?:shapes?|dtypes?|sizes?|strides?|layouts?|dims?)$/i;
export const stateCode =
  /ref_?c(?:ou)?nt|\bfreed?\b|is_?(?:initialized|closed|free)|_?initialized\b|(?:weights?|state|policy)_?version|block_table|state_dict|\b_?closed\b/i;
