package logstore_test

import (
	"context"
	"crypto/md5"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/proofs/internal/prove"
)

// logNames returns the names of a batch: the batches of a goroutine have a source, or a
// key each. Those of the kind "old" have none.
func logNames(id string) (o logstore.AppendOptions) {
	part := strings.Split(id, "-")
	g, _ := strconv.Atoi(part[1])
	i, _ := strconv.Atoi(part[2])
	switch {
	case part[0] == "old":
	case g%2 == 0:
		o.Key = md5.Sum([]byte(id))
	default:
		o.Source, o.Offset = "goroutine "+part[1], uint64(i)*100
	}
	return o
}

// toRetry returns the batches that a client would append again after a crash: all that
// were begun and have a key, and of each source the last one, whether they were
// acknowledged or not.
func toRetry(ledger []logNote) (ids []string) {
	last := map[string]int{} // of a source, in ids
	for _, n := range ledger {
		o := logstore.AppendOptions{}
		if n.Begun != "" {
			o = logNames(n.Begun)
		}
		at, known := last[o.Source]
		switch {
		case o.Source != "" && known:
			ids[at] = n.Begun
		case o.Source != "":
			last[o.Source] = len(ids)
			ids = append(ids, n.Begun)
		case o.Key != [16]byte{}:
			ids = append(ids, n.Begun)
		}
	}
	return ids
}

// retry appends the batches again, and returns the ledger with them.
func retry(s *logstore.Store, ledger []logNote, again bool) ([]logNote, error) {
	ledger = slices.Clip(ledger)
	for _, id := range toRetry(ledger) {
		b := logBatch(id)
		a, err := s.AppendWith(context.Background(), b, logNames(id))
		if err != nil {
			return ledger, fmt.Errorf("the retry of %s: %w", id, err)
		}
		if all := entriesOf(b); a.Kept+a.Known != all || again && a.Kept > 0 {
			return ledger, fmt.Errorf("the retry of %s, which has %d entries: %+v: %w", id, all, a, prove.ErrLost)
		}
		ledger = append(ledger, logNote{Acked: id})
	}
	return ledger, nil
}
