package settings

import (
	"bytes"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/server"
)

// Store returns the options of the store. The caller adds Events.
func (s *Settings) Store() logstore.Options {
	level := durability.Power
	if s.Level == "kill" {
		level = durability.Kill
	}
	codec := logstore.CodecColumns
	if s.Codec == "lines" {
		codec = logstore.CodecLines
	}
	return logstore.Options{
		Level: level, SyncEvery: s.SyncEvery,
		LateWindow: s.LateWindow, FutureWindow: s.FutureWindow, MaxLine: int(s.MaxLine),
		MaxStreams: s.MaxStreams, MaxTenants: s.MaxTenants, Tenants: s.tenants(),
		KeyWindow: s.KeyWindow,
		Retention: s.Retention, RetainBytes: s.RetainBytes, MinFree: s.MinFree,
		Memory: s.Memory, SealAge: s.SealAge, SegmentSize: s.SegmentSize, SegmentSpan: s.SegmentSpan,
		Codec: codec, Workers: s.Workers, BackgroundRate: s.BackgroundRate,
	}
}

// tenants returns the limits of tenants, or nil if there are none.
func (s *Settings) tenants() func(string) logstore.TenantOptions {
	if len(s.TenantLimits) == 0 {
		return nil
	}
	return func(tenant string) logstore.TenantOptions {
		l := s.TenantLimits[tenant]
		return logstore.TenantOptions{MaxStreams: l.MaxStreams, MaxSources: l.MaxSources, Retention: l.Retention}
	}
}

// Server returns the options of the server. The caller adds Logger and the version.
func (s *Settings) Server() server.Options {
	return server.Options{
		Tenants: s.Tenants, Hosts: s.Hosts,
		DiscoverServiceName: s.DiscoverServiceName, DiscoverLogLevels: s.DiscoverLogLevels,
		Push: s.Push, Conns: s.Conns, Query: s.Query, Queries: s.Queries,
		Config: func() []byte {
			var b bytes.Buffer
			_ = s.Print(&b) // a Buffer takes all
			return b.Bytes()
		},
	}
}
