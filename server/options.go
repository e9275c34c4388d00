package server

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/stele-go/stele/internal/setting"
	"github.com/stele-go/stele/logql"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/server/internal/lokipush"
)

// Options are the settings of a server. The zero value works and is the safe one.
type Options struct {
	// Tenants makes the header X-Scope-OrgID select the tenant: a request without it is
	// refused with 401. Without Tenants there is one tenant, "" in the store; requests
	// with the header are counted, and the first is logged.
	Tenants bool
	// Hosts are names by which clients reach the server: those of a request's Host and
	// Origin, without port. IP addresses, localhost and names below .localhost need not be
	// listed. "*" allows every name, for a server behind a proxy that checks them.
	Hosts []string

	// DiscoverServiceName are the labels whose value becomes the label service_name of a
	// stream that has none: that of the first which the stream has, else
	// unknown_service. None, the default, adds no label. Loki's list is ServiceNameLabels.
	DiscoverServiceName []string
	// DiscoverLogLevels adds the metadata detected_level to each line: the level that its
	// labels, its metadata or its text tell, else unknown.
	DiscoverLogLevels bool

	// Push bounds what pushes may bring and take, Conns what connections may.
	Push  PushLimits
	Conns ConnLimits
	// Query bounds queries: see logql.Limits. Queries bounds how many run at once.
	Query   logql.Limits
	Queries QueryLimits

	// Logger takes what operators should know. nil logs nothing.
	Logger *slog.Logger
	// Version and Revision are those of the program, for /loki/api/v1/status/buildinfo.
	Version, Revision string
	// Config, unless nil, returns the settings of the program for /config, in YAML.
	Config func() []byte
}

// PushLimits bound what a push may bring, and all pushes together. 0 means the default
// that the field names. None may be negative. Body and Decompressed are at most 1 GiB, Memory
// and LabelCache 1 TiB, Wait 366 days, Streams and Entries 2^30, and what concerns labels
// and metadata is at most logstore.MaxLabelBytes.
type PushLimits struct {
	Body         int64 // bytes of a body as sent; 0 means 16 MiB
	Decompressed int64 // bytes of a body once decompressed; 0 means 64 MiB
	// Memory is how many bytes all pushes under way may take: their bodies, those decompressed,
	// and their entries. 0 means 128 MiB, and it is never less than Body, two of
	// Decompressed and 56 bytes for each of Entries: 198 MiB with the defaults. A push that
	// finds none waits up to Wait, and is answered with 429.
	Memory int64
	// Wait is how long a push may wait for memory, of the server or of the store; 0 means
	// 15 seconds.
	Wait time.Duration

	Streams    int // of a push; 0 means 20,000
	Entries    int // of a push; 0 means 1,000,000
	Labels     int // of a stream; 0 means 64
	LabelName  int // bytes of a label's name; 0 means 1,024
	LabelValue int // bytes of a label's value; 0 means 4,096
	Metadata   int // of an entry, how many names; 0 means 128
	// MetadataBytes is how many bytes names and values of an entry's metadata may have; 0
	// means 63 KiB, at most that.
	MetadataBytes int
	// LabelCache is how many bytes the labels of streams may take that are remembered, so
	// that they are parsed once a stream; 0 means 16 MiB.
	LabelCache int64
}

// ConnLimits bound connections. 0 means the default that the field names. None may be
// negative, and no time longer than 366 days.
type ConnLimits struct {
	Max    int           // connections at once; 0 means 4,096. Others wait to be accepted
	Idle   time.Duration // without a request; 0 means 2 minutes
	Header time.Duration // from the first byte of a request to the end of its headers; 0 means 10 seconds
	// Body is how long a body may take beside what it takes at BodyRate bytes a second; 0
	// means 10 seconds, and 16 KiB a second.
	Body     time.Duration
	BodyRate int64
	// Write is how long a client may take to read an answer; up to twice as long on a
	// connection that pushes. The answer of a query must be read at 64 KiB a second
	// beside that time, an export at 16 KiB a second. 0 means a minute.
	Write time.Duration
}

// QueryLimits bound how many queries run at once. 0 means the default that the field names.
// None may be negative, and Wait is at most 366 days.
type QueryLimits struct {
	Max   int           // at once, and histories of tails among them; 0 means 16
	Queue int           // that wait for their turn; 0 means 256. Others are answered with 429
	Wait  time.Duration // for their turn; 0 means 30 seconds
	Tails int           // at once; 0 means 2,048
	// Exports at once; 0 means 8. They take no turn of the queries, as they last as long as
	// their clients take.
	Exports int
}

// ServiceNameLabels is Loki's default for discover_service_name.
func ServiceNameLabels() []string {
	return []string{
		"service", "app", "application", "app_name", "name", "app_kubernetes_io_name", "container", "container_name",
		"k8s_container_name", "component", "workload", "job", "k8s_job_name",
	}
}

// maxMetadataBytes leaves place in a set of labels for lengths, and for detected_level.
const maxMetadataBytes = 63 << 10

// Limits above these serve nobody, and sums of them could overflow.
const (
	maxTimeout = 366 * 24 * time.Hour
	maxBytes   = 1 << 40
	maxEntries = 1 << 30
)

// withDefaults checks the options and fills in the defaults.
func (o Options) withDefaults() (Options, error) {
	if err := o.check(); err != nil {
		return o, err
	}
	p, c, q := &o.Push, &o.Conns, &o.Queries
	p.Body, p.Decompressed = cmp.Or(p.Body, 16<<20), cmp.Or(p.Decompressed, 64<<20)
	p.Wait = cmp.Or(p.Wait, 15*time.Second)
	p.Streams, p.Entries, p.Labels = cmp.Or(p.Streams, 20_000), cmp.Or(p.Entries, 1_000_000), cmp.Or(p.Labels, 64)
	p.LabelName, p.LabelValue = cmp.Or(p.LabelName, 1024), cmp.Or(p.LabelValue, 4096)
	p.Metadata, p.MetadataBytes = cmp.Or(p.Metadata, 128), cmp.Or(p.MetadataBytes, maxMetadataBytes)
	p.LabelCache = cmp.Or(p.LabelCache, 16<<20)
	p.Memory = max(cmp.Or(p.Memory, 128<<20), p.Body+2*p.Decompressed+int64(p.Entries)*lokipush.EntryBytes)
	c.Max, c.Idle, c.Header = cmp.Or(c.Max, 4096), cmp.Or(c.Idle, 2*time.Minute), cmp.Or(c.Header, 10*time.Second)
	c.Body, c.BodyRate, c.Write = cmp.Or(c.Body, 10*time.Second), cmp.Or(c.BodyRate, 16<<10), cmp.Or(c.Write, time.Minute)
	q.Max, q.Queue, q.Wait, q.Tails = cmp.Or(q.Max, 16), cmp.Or(q.Queue, 256), cmp.Or(q.Wait, 30*time.Second), cmp.Or(q.Tails, 2048)
	q.Exports = cmp.Or(q.Exports, 8)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

func (o *Options) check() error {
	const pkg = "server: Options."
	p, c, l, q := &o.Push, &o.Conns, &o.Query, &o.Queries
	return cmp.Or(
		setting.InRange(pkg+"Push.Body", p.Body, 0, 1<<30),
		setting.InRange(pkg+"Push.Decompressed", p.Decompressed, 0, 1<<30),
		setting.InRange(pkg+"Push.Memory", p.Memory, 0, maxBytes),
		setting.InRange(pkg+"Push.Wait", p.Wait, 0, maxTimeout),
		setting.InRange(pkg+"Push.Streams", p.Streams, 0, maxEntries),
		setting.InRange(pkg+"Push.Entries", p.Entries, 0, maxEntries),
		setting.InRange(pkg+"Push.Labels", p.Labels, 0, logstore.MaxLabelBytes),
		setting.InRange(pkg+"Push.LabelName", p.LabelName, 0, logstore.MaxLabelBytes),
		setting.InRange(pkg+"Push.LabelValue", p.LabelValue, 0, logstore.MaxLabelBytes),
		setting.InRange(pkg+"Push.Metadata", p.Metadata, 0, logstore.MaxLabelBytes),
		setting.InRange(pkg+"Push.MetadataBytes", p.MetadataBytes, 0, maxMetadataBytes),
		setting.InRange(pkg+"Push.LabelCache", p.LabelCache, 0, maxBytes),
		setting.AtLeast(pkg+"Conns.Max", c.Max, 0),
		setting.InRange(pkg+"Conns.Idle", c.Idle, 0, maxTimeout),
		setting.InRange(pkg+"Conns.Header", c.Header, 0, maxTimeout),
		setting.InRange(pkg+"Conns.Body", c.Body, 0, maxTimeout),
		setting.AtLeast(pkg+"Conns.BodyRate", c.BodyRate, 0),
		setting.InRange(pkg+"Conns.Write", c.Write, 0, maxTimeout),
		setting.AtLeast(pkg+"Query.Lines", l.Lines, 0),
		setting.AtLeast(pkg+"Query.Series", l.Series, 0),
		setting.AtLeast(pkg+"Query.Parts", l.Parts, 0),
		setting.AtLeast(pkg+"Query.Steps", l.Steps, 0),
		setting.AtLeast(pkg+"Query.Bytes", l.Bytes, 0),
		setting.AtLeast(pkg+"Query.Memory", l.Memory, 0),
		setting.InRange(pkg+"Query.Time", l.Time, 0, maxTimeout),
		setting.AtLeast(pkg+"Query.MaxRange", l.MaxRange, 0),
		setting.AtLeast(pkg+"Query.Parallel", l.Parallel, 0),
		setting.AtLeast(pkg+"Queries.Max", q.Max, 0),
		setting.AtLeast(pkg+"Queries.Queue", q.Queue, 0),
		setting.InRange(pkg+"Queries.Wait", q.Wait, 0, maxTimeout),
		setting.AtLeast(pkg+"Queries.Tails", q.Tails, 0),
		setting.AtLeast(pkg+"Queries.Exports", q.Exports, 0),
	)
}
