package suitetest

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/wal"
)

// KeepsRecords appends records from several goroutines to the log "log" in dir,
// which is empty, closes it, and checks that each record is in it, whole, once, and
// those of each goroutine in its order.
func KeepsRecords(t *testing.T, dir string, add func(rec []byte) error, end func() error) {
	t.Helper()
	const appenders, records = LogRecords / 100, 100
	var wg sync.WaitGroup
	for a := range appenders {
		wg.Go(func() {
			for i := range records {
				rec := fmt.Sprintf("%d %3d %s", a, i, strings.Repeat("x", LogRecordSize-6-(a*records+i)%50))
				if err := add([]byte(rec)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := end(); err != nil {
		t.Fatal(err)
	}
	var next [appenders]int
	all := logRecords(t, filepath.Join(dir, "log"))
	for _, rec := range all {
		var a, i int
		fmt.Sscanf(rec, "%d %d", &a, &i)
		if i != next[a] {
			t.Fatalf("record %d of appender %d comes where %d should", i, a, next[a])
		}
		next[a]++
	}
	if len(all) != LogRecords {
		t.Errorf("%d records are in the log, want %d", len(all), LogRecords)
	}
}

// KeepsRecords appends LogRecords records of at most LogRecordSize bytes.
const (
	LogRecords    = 800
	LogRecordSize = 1000
)

// logRecords reads a log of package wal, or a file of frames, each a length, a
// CRC-32C and a record.
func logRecords(t *testing.T, name string) (all []string) {
	t.Helper()
	if info, err := os.Stat(name); err != nil {
		t.Fatal(err)
	} else if info.IsDir() {
		l, err := wal.Open(name, wal.Options{Level: durability.Kill})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		for rec, err := range l.All(0) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(rec.Data))
		}
		return all
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const head = 8
	for len(b) >= head {
		n := int(binary.LittleEndian.Uint32(b))
		if n == 0 {
			break // written ahead
		}
		rec := b[head : head+n]
		if crc32.Checksum(rec, crc32.MakeTable(crc32.Castagnoli)) != binary.LittleEndian.Uint32(b[4:]) {
			t.Fatalf("record %d is damaged", len(all))
		}
		all, b = append(all, string(rec)), b[head+n:]
	}
	return all
}
