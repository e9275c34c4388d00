package server

import (
	"encoding/json"
	"time"

	"github.com/stele-go/stele/logql"
	"github.com/stele-go/stele/server/internal/lokijson"
)

// writeStats writes what a query took, in the shape of Loki's statistics. Blocks are
// chunks there. What has no counterpart here is 0.
func writeStats(w *lokijson.Writer, r *logql.Result) {
	s, store := &r.Stats, &r.Stats.Store
	entries := len(r.Lines)
	if r.Kind != logql.Streams {
		entries = len(r.Series)
	}
	perSecond := func(n int64) int64 {
		if s.Took <= 0 {
			return 0
		}
		return int64(float64(n) / s.Took.Seconds())
	}
	w.BeginObject()
	w.Name("summary")
	w.BeginObject()
	ints(w, "bytesProcessedPerSecond", perSecond(store.RawBytes), "linesProcessedPerSecond", perSecond(store.Lines),
		"totalBytesProcessed", store.RawBytes, "totalLinesProcessed", store.Lines)
	seconds(w, "execTime", s.Took)
	seconds(w, "queueTime", s.Queued+store.Waited)
	ints(w, "subqueries", 0, "totalEntriesReturned", int64(entries), "splits", 0, "shards", 0,
		"totalPostFilterLines", store.Matched, "totalStructuredMetadataBytesProcessed", 0)
	w.EndObject()

	w.Name("querier")
	w.BeginObject()
	writeStoreStats(w, s)
	seconds(w, "querierExecTime", s.Took)
	w.EndObject()
	w.Name("ingester")
	w.BeginObject()
	ints(w, "totalReached", 0, "totalChunksMatched", 0, "totalBatches", 0, "totalLinesSent", 0)
	writeStoreStats(w, &logql.Stats{})
	w.EndObject()
	w.Raw(cacheStats) // with its name
	w.Name("index")
	w.BeginObject()
	ints(w, "totalChunks", store.Blocks.Considered, "postFilterChunks", store.Blocks.Considered-store.Blocks.Filter, "shardsDuration", 0,
		"totalStreams", 0, "chunkRefsLookupTime", 0, "bloomFilterTime", 0)
	w.Name("usedBloomFilters")
	w.Bool(store.Blocks.Filter > 0)
	w.EndObject()
	w.EndObject()
}

func writeStoreStats(w *lokijson.Writer, s *logql.Stats) {
	store := &s.Store
	w.Name("store")
	w.BeginObject()
	ints(w, "totalChunksRef", store.Blocks.Considered-store.Blocks.Time-store.Blocks.Streams, "totalChunksDownloaded", store.Blocks.Read, "chunksDownloadTime", 0)
	for _, name := range []string{"queryReferencedStructuredMetadata", "queryUsedV2Engine"} {
		w.Name(name)
		w.Bool(false)
	}
	w.Name("chunk")
	w.BeginObject()
	ints(w, "headChunkBytes", 0, "headChunkLines", 0, "decompressedBytes", store.RawBytes, "decompressedLines", store.Lines,
		"compressedBytes", store.StoredBytes, "totalDuplicates", 0, "postFilterLines", store.Matched,
		"headChunkStructuredMetadataBytes", 0, "decompressedStructuredMetadataBytes", 0)
	w.EndObject()
	ints(w, "chunkRefsFetchTime", 0, "congestionControlLatency", 0, "pipelineWrapperFilteredLines", 0)
	w.Name("dataobj")
	w.Raw(dataObjectStats)
	w.EndObject()
}

// dataObjectStats are those of a format of files that there is not here.
const dataObjectStats = `{"prePredicateDecompressedRows":0,"prePredicateDecompressedBytes":0,"prePredicateDecompressedStructuredMetadataBytes":0,` +
	`"postPredicateRows":0,"postPredicateDecompressedBytes":0,"postPredicateStructuredMetadataBytes":0,"postFilterRows":0,` +
	`"pagesScanned":0,"pagesDownloaded":0,"pagesDownloadedBytes":0,"pageBatches":0,"totalRowsAvailable":0,"totalPageDownloadTime":0}`

// cacheStats are those of caches that there are none of here. Clients read them.
var cacheStats = func() string {
	const one = `{"entriesFound":0,"entriesRequested":0,"entriesStored":0,"bytesReceived":0,"bytesSent":0,"requests":0,"downloadTime":0,"queryLengthServed":0}`
	text := `"cache":{`
	for i, name := range []string{"chunk", "index", "result", "statsResult", "volumeResult", "seriesResult", "labelResult", "instantMetricResult"} {
		if i > 0 {
			text += ","
		}
		text += `"` + name + `":` + one
	}
	return text + "}"
}()

// ints writes fields that are numbers: a name and its value each.
func ints(w *lokijson.Writer, namesAndValues ...any) {
	for i := 0; i < len(namesAndValues); i += 2 {
		w.Name(namesAndValues[i].(string))
		switch v := namesAndValues[i+1].(type) {
		case int:
			w.Int(int64(v))
		case int64:
			w.Int(v)
		}
	}
}

func seconds(w *lokijson.Writer, name string, d time.Duration) {
	w.Name(name)
	w.Float(d.Seconds())
}

func writePlan(w *lokijson.Writer, p *logql.Plan) {
	w.BeginObject()
	w.Name("text")
	w.String(p.Text)
	if tree, err := json.Marshal(p.Root); err == nil {
		w.Name("tree")
		w.Raw(string(tree))
	}
	w.EndObject()
}
