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

// logTenants are the tenants of the batches. nobody is a tenant that has none.
var logTenants = []string{"", "a", "another"}

const nobody = "nobody"

// tenantOf returns the tenant of a batch. Those of a goroutine, and those of equal labels,
// are of several.
func tenantOf(id string) string {
	part := strings.Split(id, "-")
	if len(part) < 3 {
		return nobody
	}
	g, _ := strconv.Atoi(part[1])
	i, _ := strconv.Atoi(part[2])
	if part[0] == "kept" {
		i++
	}
	return logTenants[(g+i)%len(logTenants)]
}

// logNames returns the names of a batch: the batches of a goroutine have a source, or a
// key each. Those of the kind "old" have none.
func logNames(id string) (o logstore.AppendOptions) {
	o.Tenant = tenantOf(id)
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
// acknowledged, deleted or neither.
func toRetry(ledger []logNote) (ids []string) {
	type source struct{ tenant, name string }
	last := map[source]int{} // in ids
	for _, n := range ledger {
		if n.Begun == "" {
			continue
		}
		o := logNames(n.Begun)
		of := source{o.Tenant, o.Source}
		at, known := last[of]
		switch {
		case o.Source != "" && known:
			ids[at] = n.Begun
		case o.Source != "":
			last[of] = len(ids)
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
