package power

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stele-go/stele/crashtest"
)

func TestSyncTableMarkdown(t *testing.T) {
	row := SyncRow{FS: "ext4", Way: "O_SYNC"}
	row.Cells[Overwritten] = SyncCell{Promised: true, Cuts: 5}
	row.Cells[Appended] = SyncCell{Promised: true, Cuts: 5, Lost: 1}
	row.Cells[NewName] = SyncCell{Cuts: 5, Lost: 2}
	got := SyncTableMarkdown([]SyncRow{row})
	for _, want := range []string{"| overwrite |", "| mode, owner |", "| ext4 | O_SYNC | kept 5 | LOST 1/5 |", "| lost 2/5 |"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestSyncTableStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := SyncTable(ctx, Options{}, SyncWays()[0], 1); !errors.Is(err, context.Canceled) && !errors.Is(err, crashtest.ErrUnavailable) {
		t.Errorf("cancelled: %v", err)
	}
}
