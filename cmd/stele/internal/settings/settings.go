// Package settings has the settings of stele serve. Each can be given as a flag
// (--query-timeout), in a YAML file (query_timeout) and in the environment
// (STELE_QUERY_TIMEOUT). A flag wins over the environment, and the environment over the
// file. A wrong value is an error that says where it was given: the line of the file, the
// variable or the flag.
//
//	settings.go  the settings and their table
//	load.go      files, environment and flags, merged
//	value.go     texts of values: times, sizes, lists, limits of tenants
//	variables.go variables of the environment that are no setting
//	print.go     the settings as a file
//	options.go   the settings as options of a store and of a server
//	check.go     the ranges that these check, and addresses
package settings

import (
	"strings"
	"time"

	"github.com/stele-go/stele/logql"
	"github.com/stele-go/stele/server"
)

// Settings are the settings of stele serve. Zero means the default of the package that
// takes it, unless the table says otherwise.
type Settings struct {
	Data            string
	Listen          string
	DebugListen     string
	LogFormat       string
	LogLevel        string
	ShutdownTimeout time.Duration

	Level          string
	SyncEvery      time.Duration
	Retention      time.Duration
	RetainBytes    int64
	MinFree        int64
	Memory         int64
	MaxLine        int64
	MaxStreams     int
	LateWindow     time.Duration // negative: any
	FutureWindow   time.Duration // negative: any
	KeyWindow      time.Duration
	SealAge        time.Duration
	SegmentSize    int64
	SegmentSpan    time.Duration
	Codec          string
	Workers        int
	BackgroundRate int64

	Tenants      bool
	MaxTenants   int
	TenantLimits map[string]TenantLimits

	Hosts               []string
	DiscoverServiceName []string
	DiscoverLogLevels   bool

	Push    server.PushLimits
	Conns   server.ConnLimits
	Query   logql.Limits
	Queries server.QueryLimits

	origins map[string]string // by name of a setting: where it was given
}

// TenantLimits are the limits of one tenant.
type TenantLimits struct {
	Retention  time.Duration
	MaxStreams int
	MaxSources int
}

// A Setting describes one setting.
type Setting struct {
	// Name is that in the file: words joined by underscores.
	Name string
	// Value is the kind of its value, as the help shows it: TIME, SIZE, N.
	Value string
	// Help is its meaning, in a line.
	Help string
	// Default is the text of its default, as a file would have it.
	Default string

	parse  func(*Settings, any) error
	format func(*Settings) string
}

// Flag returns the name of the flag, without dashes.
func (s Setting) Flag() string { return strings.ReplaceAll(s.Name, "_", "-") }

// Variable returns the name of the environment's variable.
func (s Setting) Variable() string { return "STELE_" + strings.ToUpper(s.Name) }

// All returns all settings, in the order of the help and of a printed file.
func All() []Setting {
	return []Setting{
		text("data", "DIR", "directory of the store; it is made if it does not exist", "", func(s *Settings) *string { return &s.Data }),
		text("listen", "ADDRESS", "address to serve HTTP on; one that other machines reach has to be asked for", "127.0.0.1:3100", func(s *Settings) *string { return &s.Listen }),
		text("debug_listen", "ADDRESS", "address to serve pprof on, for debugging; empty means nowhere", "", func(s *Settings) *string { return &s.DebugListen }),
		choice("log_format", "format of the log on standard error", "text", func(s *Settings) *string { return &s.LogFormat }, "text", "json"),
		choice("log_level", "least level of the log", "info", func(s *Settings) *string { return &s.LogLevel }, "debug", "info", "warn", "error"),
		duration("shutdown_timeout", "longest time from SIGTERM to the end of the process", "30s", time.Millisecond, func(s *Settings) *time.Duration { return &s.ShutdownTimeout }),

		choice("level", "what an acknowledged push survives: a power cut, or only the end of the process", "power", func(s *Settings) *string { return &s.Level }, "power", "kill"),
		duration("sync_every", "at level kill: longest time until a push is synced; 0 means that only sealing syncs", "0s", 0, func(s *Settings) *time.Duration { return &s.SyncEvery }),
		duration("retention", "how long lines are kept, by their time; 0 means for ever", "0s", 0, func(s *Settings) *time.Duration { return &s.Retention }),
		size("retain_bytes", "most bytes of all segments, the oldest go first; 0 means no limit", "0", func(s *Settings) *int64 { return &s.RetainBytes }),
		size("min_free", "bytes of the file system that must stay free; 0 means 1GiB, or a twentieth if less", "0", func(s *Settings) *int64 { return &s.MinFree }),
		size("memory", "memory of the store", "256MiB", func(s *Settings) *int64 { return &s.Memory }),
		size("max_line", "largest line", "256KiB", func(s *Settings) *int64 { return &s.MaxLine }),
		number("max_streams", "most streams that get lines within an hour; 0 means as many as memory allows", "0", func(s *Settings) *int { return &s.MaxStreams }),
		window("late_window", "how much older than the newest of its stream a line may be", "any", func(s *Settings) *time.Duration { return &s.LateWindow }),
		window("future_window", "how far ahead of the clock a line may be", "10m", func(s *Settings) *time.Duration { return &s.FutureWindow }),
		duration("key_window", "how long a push is remembered, so that its repetition is not kept twice", "10m", time.Second, func(s *Settings) *time.Duration { return &s.KeyWindow }),
		duration("seal_age", "how long lines stay in memory, and in the log, before they are sealed into a segment", "5m", time.Second, func(s *Settings) *time.Duration { return &s.SealAge }),
		size("segment_size", "size up to which segments are compacted; 0 means 256MiB", "0", func(s *Settings) *int64 { return &s.SegmentSize }),
		duration("segment_span", "longest time that a compacted segment spans; 0 means an eighth of retention, or a day if less", "0s", 0, func(s *Settings) *time.Duration { return &s.SegmentSpan }),
		choice("codec", "how lines are encoded when they are sealed", "columns", func(s *Settings) *string { return &s.Codec }, "lines", "columns"),
		number("workers", "goroutines that answer a query or seal; 0 means one a processor", "0", func(s *Settings) *int { return &s.Workers }),
		rate("background_rate", "bytes a second that compaction may read, and write", "64MiB", func(s *Settings) *int64 { return &s.BackgroundRate }),

		flag("tenants", "the header X-Scope-OrgID says whose a request is, and is required", func(s *Settings) *bool { return &s.Tenants }),
		number("max_tenants", "most tenants that get lines within an hour; 0 means as many as memory allows", "0", func(s *Settings) *int { return &s.MaxTenants }),
		tenantLimits("tenant_limits", "limits of single tenants: {NAME: {retention: 7d, max_streams: 1000, max_sources: 10}}", func(s *Settings) *map[string]TenantLimits { return &s.TenantLimits }),

		list("hosts", "names beside localhost by which browsers may ask this server", "", func(s *Settings) *[]string { return &s.Hosts }),
		list("discover_service_name", "labels of which the first that a stream has becomes its label service_name; Grafana's Logs Drilldown needs it", "", func(s *Settings) *[]string { return &s.DiscoverServiceName }),
		flag("discover_log_levels", "find the level of each line and keep it as detected_level", func(s *Settings) *bool { return &s.DiscoverLogLevels }),

		size("max_body", "largest body of a push, as it is sent", "16MiB", func(s *Settings) *int64 { return &s.Push.Body }),
		size("max_decompressed", "largest body of a push, decompressed", "64MiB", func(s *Settings) *int64 { return &s.Push.Decompressed }),
		size("push_memory", "memory of all pushes under way; at least a body, two of it decompressed and 56 bytes a line of the largest push", "128MiB", func(s *Settings) *int64 { return &s.Push.Memory }),
		duration("push_wait", "longest time that a push waits for memory; then it is answered with 429", "15s", time.Millisecond, func(s *Settings) *time.Duration { return &s.Push.Wait }),
		number("max_push_streams", "most streams of a push; 0 means 20000", "0", func(s *Settings) *int { return &s.Push.Streams }),
		number("max_push_lines", "most lines of a push; 0 means 1000000", "0", func(s *Settings) *int { return &s.Push.Entries }),
		number("max_labels", "most labels of a stream; 0 means 64", "0", func(s *Settings) *int { return &s.Push.Labels }),
		number("max_label_name", "longest name of a label, in bytes; 0 means 1024", "0", func(s *Settings) *int { return &s.Push.LabelName }),
		number("max_label_value", "longest value of a label, in bytes; 0 means 4096", "0", func(s *Settings) *int { return &s.Push.LabelValue }),
		number("max_metadata", "most names of the metadata of a line; 0 means 128", "0", func(s *Settings) *int { return &s.Push.Metadata }),
		number("max_metadata_bytes", "longest metadata of a line, in bytes; 0 means 64512", "0", func(s *Settings) *int { return &s.Push.MetadataBytes }),
		size("label_cache", "memory of the labels that need not be parsed again", "16MiB", func(s *Settings) *int64 { return &s.Push.LabelCache }),

		number("max_connections", "most connections at once; others wait; 0 means 4096", "0", func(s *Settings) *int { return &s.Conns.Max }),
		duration("idle_timeout", "longest time of a connection without a request", "2m", time.Millisecond, func(s *Settings) *time.Duration { return &s.Conns.Idle }),
		duration("header_timeout", "longest time that the headers of a request take", "10s", time.Millisecond, func(s *Settings) *time.Duration { return &s.Conns.Header }),
		duration("body_timeout", "longest time that a body takes beside that of body_rate", "10s", time.Millisecond, func(s *Settings) *time.Duration { return &s.Conns.Body }),
		size("body_rate", "bytes a second that a body arrives at, at least; 0 means 16KiB", "0", func(s *Settings) *int64 { return &s.Conns.BodyRate }),
		duration("write_timeout", "longest time that a client takes no byte of an answer", "1m", time.Millisecond, func(s *Settings) *time.Duration { return &s.Conns.Write }),

		number("max_query_lines", "most lines that a query may ask for; 0 means 5000", "0", func(s *Settings) *int { return &s.Query.Lines }),
		number("max_query_series", "most series of a metric query; 0 means 500", "0", func(s *Settings) *int { return &s.Query.Series }),
		number("max_query_steps", "most steps of a metric query; 0 means 11000", "0", func(s *Settings) *int { return &s.Query.Steps }),
		size("max_query_bytes", "most bytes that a query may read; 0 means no limit", "0", func(s *Settings) *int64 { return &s.Query.Bytes }),
		size("max_query_memory", "memory of the result of a query; of series between operators as much again", "64MiB", func(s *Settings) *int64 { return &s.Query.Memory }),
		duration("max_query_range", "longest range of a selector; 0 means no limit", "0s", 0, func(s *Settings) *time.Duration { return &s.Query.MaxRange }),
		duration("query_timeout", "longest time of a query", "1m", time.Millisecond, func(s *Settings) *time.Duration { return &s.Query.Time }),
		number("query_workers", "goroutines of one query; 0 means those of the store", "0", func(s *Settings) *int { return &s.Query.Parallel }),
		number("max_queries", "most queries at once; 0 means 16", "0", func(s *Settings) *int { return &s.Queries.Max }),
		number("max_waiting_queries", "most queries that wait for their turn; others are answered with 429; 0 means 256", "0", func(s *Settings) *int { return &s.Queries.Queue }),
		duration("query_wait", "longest time that a query waits for its turn", "30s", time.Millisecond, func(s *Settings) *time.Duration { return &s.Queries.Wait }),
		number("max_tails", "most tails at once; 0 means 2048", "0", func(s *Settings) *int { return &s.Queries.Tails }),
		number("max_exports", "most exports at once; others wait as queries do; 0 means 8", "0", func(s *Settings) *int { return &s.Queries.Exports }),
	}
}
