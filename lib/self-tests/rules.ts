import type { Property } from "../contract/vocabulary";

/** Raised with every change of what counts; kept beside each result. */
export const selfTestRulesVersion = "2";

/** Statements that make a test fail, helpers by their names too. */
export const assertion =
  /^\s*assert\b|\bassert_\w+\s*\(|\bself\.(?:assert|fail)\w*\s*\(|\b(?:pytest|unittest)\.(?:raises|warns|fail)\s*\(|\.assert_\w+\s*\(|^\s*(?:check|verify|expect)_\w+\s*\(/;

/** How one property shows in test code, from which strings and comments are taken away. */
export interface Rule {
  property: Property;
  /** Takes a quantity. What it gives, under any name, counts once an assertion of the same test reads it. */
  meter?: RegExp;
  /** Counts in the text of an assertion itself. */
  asserted?: RegExp;
  /** An event in the body of a test; counts where an assertion follows it. */
  event?: RegExp;
  /** Counts anywhere in a test that asserts, its decorators included. */
  anywhere?: RegExp;
}

const collective =
  "(?:all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|isend|irecv|batch_isend_irecv|collective)\\w*";

export const rules: readonly Rule[] = [
  {
    property: "resource.memory",
    meter:
      /\b(?:max_)?memory_(?:allocated|reserved|stats|snapshot|summary)\b|\bmem_get_info\b|\btracemalloc\.\w+|\bru_maxrss\b|\bmemory_info\s*\(|\bgetsizeof\s*\(|\bget_device_properties\b.*\btotal_memory\b/,
    asserted:
      /\b\w*(?:peak_?mem|mem(?:ory)?_?(?:used|usage|peak|bytes|mb|mib|gb|gib|delta|growth|increase|footprint)|(?:used|peak|allocated|resident|host)_?(?:bytes|mem|memory|mb|mib)|nbytes)\w*\b|\bpeak\b/i,
  },
  {
    property: "resource.speed",
    meter:
      /\btime\.(?:time|perf_counter|monotonic|process_time)(?:_ns)?\s*\(|\bperf_counter(?:_ns)?\s*\(|\btimeit\b|\.elapsed_time\s*\(|\bdo_bench\w*\s*\(|\bbenchmark\.(?:Timer|stats)\b|\bblocked_autorange\s*\(/,
    asserted:
      /\b\w*(?:elapsed|latency|throughput|speed_?up|wall_?(?:clock|time)|duration|tokens_per_s|per_second|seconds_taken|(?:tokens|rows|steps|flops)_(?:computed|executed))\w*\b|\bflops\b/i,
  },
  {
    property: "resource.traffic",
    asserted: new RegExp(
      `\\b\\w*(?:bytes_?(?:sent|received|transferred|moved|on_the_wire)|(?:sent|received|transferred|wire|comm|network)_?(?:bytes|volume|numel|elements)|traffic|n(?:um)?_?(?:collectives|messages|sends|transfers)|(?:collective|message|send|transfer|comm)_?(?:count|calls))\\w*\\b` +
        `|\\b\\w*${collective}\\b.*(?:\\bcall_count\\b|\\bcall_args_list\\b|\\.assert_(?:called|not_called|has_calls)\\w*)` +
        "|\\btotal_(?:sent|received)\\b|^\\s*(?:check|verify|expect)_.*\\bsent\\b|\\bsent\\b.*[<>]|[<>].*\\bsent\\b" +
        `|\\blen\\s*\\(\\s*\\w*(?:${collective}|messages|sends)\\w*\\s*\\)|\\b\\w*${collective}_(?:count|calls)\\b`,
      "i",
    ),
  },
  {
    property: "shape-layout-dtype",
    asserted:
      /\.(?:shape|dtype|ndim|layout|placements|device_mesh)\b|\.(?:size|stride|numel|dim|is_contiguous|storage_offset|data_ptr|element_size)\s*\(|\b\w*(?:_shape|_dtype|_strides?|_layout)\b/,
  },
  {
    property: "state-lifecycle",
    asserted:
      /\.(?:grad|requires_grad|training|is_alive|closed|is_closed|is_initialized|version|ref_?(?:cnt|count)s?|refcount)\b|\bstate_dict\b|\b\w*(?:num_free|free_blocks|free_slots|in_use|leaked|ref_?(?:cnt|count)|is_(?:open|closed|released|freed|finished|aborted))\w*\b|\bweakref\b/i,
    event:
      /\b(?:load|save)_(?:state_dict|checkpoint|model)\w*\s*\(|\.(?:close|shutdown|reset|free|release|abort|abort_request|cancel|evict|resume|wake_up|zero_grad)\s*\(|(?<!\btime)(?<!\basyncio)\.sleep\s*\(|\bgc\.collect\s*\(/,
  },
  {
    property: "condition",
    asserted: /\b(?:pytest|unittest)\.(?:raises|warns)\s*\(|\bassert(?:Raises|Warns)\w*\s*\(/,
    anywhere: /@pytest\.mark\.parametrize\b|@parameterized\b|\.subTest\s*\(|@given\s*\(/,
  },
  {
    property: "value",
    asserted:
      /\b(?:assert_(?:close|allclose|array_equal|array_almost_equal|almost_equal|equal)|allclose|isclose|approx|torch\.equal|array_equal|assert(?:Equal|AlmostEqual|SequenceEqual|ListEqual|DictEqual|TensorEqual))\s*\(|^\s*assert\b.*[^=!<>]==[^=]/,
  },
];
