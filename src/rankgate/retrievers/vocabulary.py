"""What a lexical search has to know of programming English: three tables of plain words.

They were written from general knowledge, for code bases of any kind and language. Each holds
unstemmed lower-case words; `code_text` stems them.
"""

# Question words, grammar, and what every question about code has: these do not vote.
_STOP = """
    a about above actually after again all already also always am an and any anything are aren as
    at be because been before being below between both but by came can cannot code come comes
    could couldn d decide decides did didn do does doesn doing don done down during each either
    else even ever every everything few file files for from function further gave get gets getting
    give given gives go goes going gone got had hadn happen happened happens has hasn have haven
    having he her here hers him his how however i if in instead into is isn it its itself just know
    knowing known knows let like ll look looks m made make makes making may maybe me method might
    module more most much must my need needed needs neither never no nor not nothing now of off
    often on once one only onto or other our ours out over own per put rather re really s same
    shall she should shouldn since so some somebody someone something somewhere still such t take
    taken takes than that the their theirs them then there these they thing things this those
    though through thus to too took under until up upon us use used uses using ve very via want
    wants was wasn way ways we well went were weren what whatever when whenever where wherever
    whether which while who whom whose why will with within without won work works would wouldn
    yes yet you your yours class
"""

# One meaning a line, its first word stands for all: abbreviations, spellings, irregular forms.
_SAME = """
    absolute abs
    acknowledge ack acks acknowledgement
    address addr
    administrator admin
    alias aliased aliases
    alphanumeric alnum
    analyze analyse analyses analysis
    application app apps
    approximate approx
    argument arg args argv
    artifact artefact
    asynchronous async asynchronously
    attribute attr attrs
    authentication auth authorization authorize authorise authorized authorizing authorizer
    average avg
    background bg
    backoff backsoff backedoff backingoff
    begin began begun
    behavior behaviour
    bind bound
    break broke broken
    bring brought
    buffer buf
    build built
    button btn
    calculate calc
    callback cb callbacks cbs
    cancel cancelled cancelling cancellation
    canonical canonicalize canonicalise
    capitalize capitalise
    catalog catalogue
    catch caught
    categorize categorise
    center centre
    certificate cert certs
    character char chars
    child children
    choose chose chosen choice
    class cls
    cleanup cleansup cleanedup cleaningup
    collide collision
    color colour
    column col cols
    command cmd
    compare comparison
    compose composition
    concatenate concat
    condition cond
    config configuration configure configured conf cfg
    connection conn
    constant const
    constructor ctor
    context ctx
    control ctrl ctl
    coordinate coord coords
    coroutine coro
    count cnt
    creator author authors
    credential cred creds
    current cur curr
    customize customise
    cutoff cutsoff cuttingoff
    database db
    decrement decr
    define definition
    delete del
    delimiter delim
    deny denial
    dependency dep deps
    deserialize deserialise unserialize
    destination dest dst
    dialog dialogue
    dictionary dict
    difference diff
    directory dir dirs
    divide division
    document doc docs documentation
    draw drew drawn
    element elem
    embed embeds embedded embedding embeddings
    environment env environ
    error err errno
    evaluate eval
    exception exc
    exclude exclusion
    execute exec
    expand expansion
    expire expiry
    expression expr
    extension ext
    fallback fallsback fellback fallingback
    favorite favourite
    figureout figuresout figuredout
    filename fname filenames
    filesystem fs
    finalize finalise
    find found
    flavor flavour
    forbid forbade forbidden
    foreground fg
    forget forgot forgotten
    format fmt
    freeze froze
    frequency freq
    function func fn
    generate gen
    gray grey
    grow grew grown
    hang hung
    hexadecimal hex
    hide hidden
    hold held
    honor honour
    identifier ident id ids
    image img
    implement impl
    include inclusion
    increment incr inc
    index idx indices
    indication indicate indicates indicated indicating indicator indicators
    information info
    initialize init initialise initialization
    instance inst
    integer int
    iterator iter
    javascript js
    keep kept
    keepalive keepsalive keptalive keepingalive
    keyword kw
    kwarg kwargs
    language lang
    latitude lat
    leave left
    length len
    level lvl
    library lib
    license licence
    localize localise
    location loc
    lockout lockedout locksout
    login loggedin loggingin logsin
    logout loggedout loggingout logsout
    longitude lng lon
    lose lost
    manager mgr
    matrix mat matrices
    maximum max
    memoize memoise
    memory mem
    message msg
    millisecond ms
    minimize minimise
    minimum min
    modify modification
    multiple multi
    navigation nav
    negative neg
    neighbor neighbour neighbours
    normalize normalise
    notify notification
    number num
    object obj
    occur occurrence
    optimize optimise
    option opt opts
    organization org orgs organisation
    original orig
    overload overloaded
    override overrode overridden
    overwrite overwrote overwritten
    package pkg
    parameter param params parametrize parameterize parametrise parameterise
    password passwd pwd
    pay paid
    percent pct
    permission perm perms
    pickup picksup pickedup pickingup
    pointer ptr
    position pos
    postgres postgresql
    preference pref prefs
    previous prev
    priority prio prioritize prioritise
    process proc
    property prop props
    quantity qty
    queue queued queues queuing queueing
    random rand randomise rnd
    rebuild rebuilt
    receive recv
    recognize recognise recognition
    rectangle rect
    reference ref refs
    regex regexp regexes
    remove rm
    repeat repetition
    repository repo repos
    request req
    rerun reran
    resend resent
    response resp
    retain retention
    rewrite rewrote rewritten
    rise rose risen
    rollback rollsback rolledback rollingback
    run ran
    sanitize sanitise
    second sec secs
    send sent
    separator sep
    sequence seq
    serialize serialise
    server srv
    service svc
    session sess
    setup setsup settingup
    shrink shrank shrunk
    shutdown shutsdown shuttingdown
    signature sig
    signin signedin signsin signingin
    signout signedout signsout signingout
    signup signedup signsup signingup
    sleep slept
    source src
    specification spec
    spin spun
    standard std
    startup startsup startedup startingup
    statement stmt
    steal stole stolen
    string str
    structure struct
    subdirectory subdir subdirs
    submit submission
    substitute subst
    summarize summarise
    suspend suspension
    symbol sym
    synchronize synchronise
    synchronous sync
    table tbl
    template tmpl tpl
    temporary temp tmp
    text txt
    throw threw thrown
    timeout timedout timesout timingout
    timezone tz
    token tok
    tokenize tokenise
    transaction txn
    transmit transmission
    truncate trunc
    turnoff turnsoff turnedoff turningoff switchoff switchedoff switchesoff
    turnon turnson turnedon turningon switchon switchedon switcheson
    undo undid undone
    unwind unwound
    utility util utils
    value val
    variable var vars
    vector vec
    verify verification
    version ver
    vertex vertices
    visualize visualise
    wake woke woken
    withdraw withdrew withdrawn
    write wrote written
"""

# Words that a question and its answer use for one another, a group a line; a word may be in many.
_RELATED = """
    abort bail exit
    abstract base interface
    accent diacritic unicode normalize
    acknowledge confirm receipt
    acl permission access
    adapter transport backend
    add append insert register attach
    address ip host
    aggregate summarize total reduce
    alias synonym
    align center justify
    allow permit accept enable
    ancestor parent base
    anchor link fragment
    annotation hint typing type
    anonymous guest public
    ansi escape color
    approve confirm accept
    archive zip tar
    argument parameter
    assign set bind
    async coroutine await
    atomic consistent transaction
    attack csrf security
    attacker malicious untrusted unsafe
    attribute field member property
    audit log history
    autoescape escape markup safe
    autoreload reload watch
    average mean
    background task job
    backlog pending queue
    backoff retry delay
    backup copy
    bad invalid malformed
    balance credit amount
    bandwidth throughput rate
    barrier wait
    batch bulk group
    benchmark performance timing
    bidi rtl direction
    big large maximum
    binary bytes raw
    bisect search
    bitmask flag
    blacklist block deny
    blank empty
    blowup crash exception
    blueprint mount prefix
    body payload content
    bold italic style
    bom encoding
    bookmark favorite
    boolean true false
    bounce redirect
    boundary multipart
    box panel border
    bracket parenthesis brace
    breakpoint debugger
    broken invalid malformed corrupt
    broker queue backend
    browser client html
    bruteforce lockout throttle
    bucket partition shard
    bucket storage
    bug error defect
    builder build
    bundle package archive
    burst rate limit
    bypass skip override
    bytecode opcode instruction
    cache memoize store
    callback hook event listener
    caller callee stack
    camel snake case
    cancel abort interrupt
    capacity limit size
    capture stdout output
    caret cursor position
    cart basket order
    cascade delete relation
    casefold insensitive lowercase
    catch handle except
    cell column
    certificate tls ssl trust ca
    chain pipeline sequence
    charset encoding unicode utf codec
    chat message channel
    checker lint rule
    checkout branch
    checkout cart payment
    checkpoint snapshot save
    choice enum option
    choke fail
    choose select pick
    clamp limit bound
    clash collide conflict
    cleanup teardown close dispose
    clear reset empty flush
    client browser agent
    clipboard paste
    clobber overwrite replace exist
    clock time timer
    close shutdown release dispose
    coerce strict
    collect gather accumulate
    collector collect
    color style palette
    column field
    command cli subcommand
    comment docstring
    common shared
    compare equal identical eq
    compat legacy shim
    compile translate compiler
    complain warning error
    complete completion suggest autocomplete
    compose combine nested
    compress gzip deflate zip shrink
    compressor compress
    compute calculate
    condition predicate expression
    config setting option preference
    conflict duplicate clash
    conflict version incompatible
    connect connection
    connect dial reconnect
    constant literal immutable
    constraint integrity unique
    consume dequeue read
    container wrapper collection
    conversion convert
    convert cast coerce transform converter
    cookie jar session
    copy clone duplicate
    corrupt invalid damage
    cors origin cross
    count number total
    counter increment
    crash exception traceback fatal
    crash die exit
    crawl scrape spider
    create build construct instantiate generate new
    crlf newline
    cron crontab schedule periodic
    currency money exchange
    curry partial
    cursor fetch
    custom user
    cut crop trim truncate
    cutoff truncate limit
    cycle loop circular
    daemon service background
    database sql sqlite
    date datetime day calendar
    deadletter failure
    deadlock lock
    debounce throttle
    debug inspect trace
    debugger debug
    decode deserialize parse
    decompress inflate unpack unzip gzip deflate
    decorator wrap
    decrypt decipher cipher
    dedent indent
    dedupe unique duplicate
    deep depth nested
    default fallback
    defer lazy delay
    delete remove drop erase discard unlink purge
    dependency inject provide
    dependency requirement import
    dequeue pop queue
    descendant child
    descriptor property
    destroy delete dispose
    detect guess recognize
    determine resolve
    diagram graph chart
    dialect backend driver
    dialog popup modal
    dictionary mapping
    difference compare delta
    digest etag
    dirty modify
    disable deactivate
    disappear hide missing remove vanish
    disconnect close
    discount price coupon
    discover find scan
    disk storage filesystem
    dispatch route resolve
    display repr represent
    distance path length
    dns resolve nameserver
    docstring document
    dom tree
    domain subdomain host
    dotenv environment
    double duplicate twice
    download fetch retrieve
    drain flush shutdown
    draw paint plot render
    driver adapter backend
    drop disconnect lose
    dst daylight offset timezone
    duration elapsed interval seconds
    eager prefetch preload join
    eavesdrop encrypt tls
    edge link arc
    email mail smtp
    embed include inline
    emitter emit
    emoji unicode wide
    empty missing null
    enable activate
    encode serialize dump
    encrypt cipher crypto encryption
    endless infinite recursion
    endpoint route view
    enqueue push queue submit
    ensure assert require
    entity escape unescape
    entry record item
    entrypoint plugin main
    enum constant member
    enumerate list iterate
    environment variable
    eof end
    epoch timestamp
    equation formula expression
    error exception failure
    escape quote encode sanitize percent
    estimate approximate
    etag cache conditional unmodified
    evaluate expression
    evict expire lru cache
    exceed limit maximum overflow
    excel spreadsheet xlsx
    execute run
    executor pool worker
    exhaust pool overflow
    exit quit terminate
    expand substitute interpolate
    expect assert require
    expire expiry timeout ttl lifetime stale
    export dump output
    expose public leak
    extension mimetype
    extra additional unknown
    extract unpack
    factory create construct build
    failure fail error abort
    fallback alternative recover
    fast speed performance
    fatal panic
    fetch get retrieve load obtain
    figureout detect infer
    fill pad populate
    filter select exclude
    finalize destroy close
    find lookup search locate resolve
    finder find
    fingerprint identify
    fire trigger emit
    fixture setup teardown
    flag option switch toggle
    flatten nested
    flicker refresh redraw
    flood throttle
    floor ceil round truncate
    flush write buffer
    folder directory
    font glyph character
    forbid deny reject refuse block disallow prohibit
    foreign constraint reference
    forever infinite timeout
    forge forgery tamper csrf xsrf
    forget clear expire
    form field
    formatter format
    forwarded proxy
    freeze block hang
    freeze stall timeout
    future promise deferred
    fuzzy approximate similar distance
    gap space margin
    garbage collect weakref
    garbled encoding decode charset
    gather collect await
    generator yield iterate
    generator lazy
    generic typevar
    getter accessor property
    gitignore ignore pattern
    glue join concat
    graceful shutdown
    grammar rule production
    graph network
    greenlet coroutine
    group aggregate cluster
    grow append extend
    guard protect check
    guess default
    handler callback hook
    handler handle
    handshake negotiate tls
    hang block deadlock stuck
    hang timeout wait
    hash digest checksum fingerprint
    header heading
    heap priority queue
    heartbeat ping keepalive
    hide mask private conceal
    highlight style syntax
    hijack steal takeover
    histogram distribution plot
    history log record
    hook middleware plugin
    host hostname domain site origin
    hotspot profile
    huge large limit
    huge stream chunk
    humanize natural relative
    hyphen dash underscore
    idempotent duplicate once
    identifier uuid key
    identity id user
    idle keepalive timeout inactive
    ignore skip suppress
    immutable frozen readonly
    impersonate masquerade
    import load module
    imprecise precision decimal
    include import insert
    indent indentation nested
    infinite loop
    inflect plural singular
    inherit subclass derive base
    initial begin default
    inject escape
    injector inject
    inotify watch
    insecure unsafe verify
    insensitive case lowercase
    inspect introspect signature
    install package
    instrument trace metric
    interactive prompt shell
    interface protocol abstract
    interleave merge
    intermittent flaky race
    interpreter evaluate execute
    interrupt keyboard sigint
    introspect reflect
    invalid validate
    invoice bill receipt
    invoke call execute
    item element entry
    iterate walk
    jitter random backoff
    jumble order sort
    junction node intersection
    keyboard key input
    keyword kwargs
    label name
    label tag annotation
    lag latency delay
    largest maximum
    late overdue deadline
    late delay
    layout grid
    layout inherit
    lazy deferred
    leading prefix
    leak memory
    leak close release
    legacy deprecate old
    legend label
    length long
    lenient strict
    lexer lex tokenize
    limit cap maximum bound threshold quota
    linger orphan zombie cleanup
    lint warning
    list array sequence
    loader load
    localhost loopback
    lock mutex semaphore acquire
    lockfile pin version
    log logger logging record
    login signin logon authenticate credential
    login session
    logout signout logoff
    logout session expire
    lookahead peek buffer
    lookup resolve get
    loop iterate
    lose discard missing
    loud error raise
    machine host computer
    macro expand template
    mail message
    mailbox inbox imap
    main entry start
    mangle corrupt encode
    manifest metadata
    markdown markup html
    markup tag
    marshal serialize pickle
    mask hide redact
    match pair assign
    matcher match
    measure size width
    memory ram
    merge combine join concat union
    metaclass type
    metric gauge counter histogram
    metric statistic summary
    middleware wrapper interceptor
    migrate upgrade alter
    mime type attachment
    minify compress
    misalign align width pad
    misfire schedule
    mismatch conflict compare
    missing absent undefined
    misspell suggest
    mixin base
    mock fake stub dummy
    mock patch monkeypatch
    modify mtime timestamp
    mojibake encoding unicode
    money amount payment
    monitor watch observe
    mutable mutate
    mutex exclusive
    naive aware timezone
    name identifier
    namespace prefix
    nan infinity missing
    navigate route link
    nearest closest neighbor distance
    negotiate accept
    neighbor adjacent
    nested inner
    newline line linebreak
    nonblocking async
    nonce random
    noqa ignore suppress
    normalize canonical clean
    notify alert event
    notify message
    null none nil
    number numeric integer float digit decimal
    oauth grant token
    obsolete deprecate
    offline disconnect
    offset position
    offset limit
    opacity transparent alpha
    operator precedence
    optimize speed
    option precedence
    optional nullable none
    order sequence
    orm model
    orphan parent child
    otp totp mfa
    outdated old version
    outer enclosing
    overflow truncate wrap
    overlap range interval intersect
    overload backpressure throttle
    override custom
    oversize limit maximum
    owner user parent
    packet frame
    pad align justify
    padding margin space
    page html document
    pager page scroll
    paginate page cursor
    parallel concurrent async
    parse scan tokenize lexer parser
    partial incomplete chunk
    password secret credential passphrase
    password salt hash
    payment charge billing invoice
    peer remote
    period interval duration
    permanent persist
    permission grant privilege role access
    permission chmod mode
    permission group role
    person user
    phone sms contact
    pickup detect reload
    picture image figure photo
    piece chunk part segment
    pipe stdin stdout
    placeholder variable interpolate
    plugin extension addon
    plugin load discover
    plural ngettext
    polyfill shim compat
    pool reuse keepalive
    postpone defer delay
    precedence priority order
    predict infer
    prefer priority
    prefix startswith
    preprocess macro
    pretty format indent
    prevent block protect
    preview render
    price cost amount
    primary main master
    print display echo output show
    priority weight order
    probe check ping
    process worker fork
    processor process
    producer publish
    profile performance timing
    progress bar percent
    prompt ask input confirm
    propagate bubble forward
    protect guard secure
    proxy gateway
    publish broadcast emit
    quantile percentile median
    query select statement
    queue buffer
    quick fast
    quote literal string
    race concurrent lock
    raise throw
    random seed shuffle
    rank score relevance
    rate speed frequency
    read load
    reader load parse
    reader read
    reap zombie child
    rebuild refresh
    recalculate recompute refresh
    receive accept
    recipient address
    recurring repeat periodic
    recursion recursive depth
    recursive nested circular
    recycle reuse
    redact sensitive mask
    redirect follow location forward
    reduce shrink minimize aggregate
    reentrant recursive lock
    refresh renew update
    refund reimburse
    regex pattern match
    region country
    register mount attach
    register registry registration
    reject validate
    relation relationship foreign
    relative absolute
    release publish deploy
    reload refresh restart
    remainder modulo
    remember store cache persist
    remote server network
    rename move
    render draw display
    renew refresh extend
    reorder sort order
    repeat resend retry
    replace substitute swap
    replica secondary standby
    report summary
    request call query
    requeue redeliver retry
    required mandatory
    rescue recover catch
    reserve keyword hold
    resize scale thumbnail
    resolution resolve
    respawn restart
    response reply answer
    restore recover
    restrict permission
    resume continue
    rethrow reraise cause
    retry attempt
    returncode exit status
    reverse invert backward
    revision commit version
    revoke blacklist
    rewind seek offset
    rid delete discard remove
    rollback savepoint
    root base top
    rotate rollover
    round precision decimal
    route path endpoint rule
    router route dispatch
    row record
    runner run
    same equal identical
    sample random
    sandbox untrusted isolate restrict
    save persist store write
    savepoint nested
    scanner scan lexer
    schedule periodic timer interval
    schema migration
    schema field validate
    scope namespace
    scramble shuffle
    screen terminal display
    script command
    secret key token password
    security secure safe sandbox
    seed populate
    selector css xpath
    semicolon separator
    send post transmit emit
    sender from
    separator delimiter comma
    server host backend
    severity level
    shadow hide override
    shape size dimension
    share common
    shell command terminal
    shortcut hotkey keybinding
    shortest dijkstra path
    sibling neighbor
    sign signature hmac tamper
    signal event notify emit
    signal interrupt
    signer sign
    signup register
    silence suppress quiet
    silent quiet suppress swallow
    simulate mock fake
    simultaneous concurrent parallel
    singleton instance
    sink output handler
    site website host
    size length
    skip ignore omit exclude
    sleep wait delay pause
    slice range
    slow performance speed
    slow optimize bottleneck
    smallest minimum
    snapshot copy state
    sniff detect
    socket port listen bind
    socks proxy tunnel
    sort order
    sound audio
    space whitespace gap
    span trace
    spawn start fork process
    spawn popen subprocess
    spin busy loop lock
    spinner progress animation
    split divide separate partition
    splitter split
    spoof forge fake
    spreadsheet csv table
    spy mock
    squeeze shrink
    stack push pop
    stale outdated expire
    stall hang block timeout
    start begin launch run boot
    startup initialize boot
    static asset
    status state code
    status health probe
    step stage phase
    stop shutdown halt terminate
    storage backend store
    stream chunk iterate
    string text
    stringify string serialize
    strip trim whitespace blank
    stuck timeout wait
    style theme format
    stylesheet css
    submit send post form
    subscribe listen observer
    subset superset
    substring slice
    suffix endswith extension
    suggest hint propose similar
    superuser administrator root
    supervisor monitor restart
    surrogate unicode encoding
    survive persist restart
    suspend pause resume
    swallow except ignore
    symlink link
    synchronize lock
    syntax grammar parse
    table column
    table grid
    tax vat rate
    telemetry metric trace
    template layout
    template render page view
    temporary scratch
    terminal console tty shell screen
    test assert check
    thousand separator group
    thread worker concurrent parallel
    threadsafe lock
    throttle rate limit
    throwaway discard temporary
    tick timer interval
    tidy format clean
    tilde home expand
    timedelta duration
    timeout deadline wait
    timestamp time date
    timezone utc offset
    tiny small minimum
    title caption
    token jwt bearer
    token lexeme symbol
    tolerance approximate epsilon
    topological dependency order
    total sum
    traceback stack frame
    tracer trace
    trailing suffix
    train fit
    transaction commit rollback
    transient temporary retry
    translate locale gettext language translation
    trash delete
    traverse walk visit recurse
    tree node ast hierarchy
    trigger hook
    trim cut
    truncate shorten ellipsis abbreviate cut
    tunnel forward
    turnoff disable
    turnon enable
    twice duplicate repeat once
    typo misspell invalid
    typo suggest
    unauthorized permission deny forbid
    unbalanced unclosed bracket
    unbounded unlimited infinite
    unclosed unterminated eof
    undo revert restore rollback
    unescape unquote decode
    unexpected invalid error
    unfinished pending
    unhandled uncaught exception
    uninstall remove
    union either variant
    unique distinct duplicate
    unknown undefined invalid
    unlimited limit
    unlock release
    unpredictable random
    unreachable refuse connect
    unreadable decode
    unresponsive timeout block
    unset missing default
    unsubscribe remove disconnect
    unwanted exclude
    update modify change edit mutate alter patch
    upgrade version
    upload multipart attachment form
    uppercase lowercase case capitalize
    upsert insert conflict
    url uri link href
    urlencode percent quote
    usage help manual
    user account customer
    validate check verify validator constraint
    vanish remove delete
    vendor bundle
    venv virtualenv environment
    verbose debug
    verbosity level quiet
    version release
    vertex node
    view handler page
    virtual abstract
    visitor user client
    visitor visit traverse
    voucher coupon
    wait await
    walker walk
    wallet balance
    warm preload cache
    warn warning deprecate
    watch observe reload
    watcher watch
    web http
    webpage html
    website http
    websocket socket frame
    weekday day
    weight cost
    wheel distribution package
    whitelist allow permit
    widget component
    width size wide
    wildcard glob pattern
    wire transport
    wizard prompt interactive
    worker job
    wrap fold
    wrapper proxy delegate
    write save dump output
    writer write
    wrong invalid error
    xml element
    xss escape sanitize
    zip pair
    zone region
"""


def _groups(table: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(line.split()) for line in table.strip().splitlines())


STOP_WORDS = frozenset(_STOP.split())
SAME = _groups(_SAME)
RELATED = _groups(_RELATED)
