package cli

import (
	"github.com/stele-go/stele/logstore"
	"github.com/stele-go/stele/wal"
)

type repairDoc struct {
	Schema      string `json:"schema"`
	Dir         string `json:"dir"`
	Needed      bool   `json:"needed"`            // before the repair, if there was one
	Refused     string `json:"refused,omitempty"` // why the store cannot be opened
	Log         string `json:"log"`
	LogID       string `json:"log_id,omitempty"`
	LogMissing  bool   `json:"log_missing"`
	Interrupted bool   `json:"interrupted"`
	Quarantine  string `json:"quarantine,omitempty"` // where the old log is, once repaired
	// Accepted is the report on what --accept-missing has given up.
	Accepted string `json:"accepted,omitempty"`

	LogDamage []repairPlace `json:"log_damage"`
	Lost      []repairRange `json:"lost"`           // positions given up
	OpenEnd   bool          `json:"open_end"`       // records from position next on may be lost too
	Torn      *inspectTorn  `json:"torn,omitempty"` // whole records that opening the store would cut
	Deletions []string      `json:"deletions"`      // pending ones that are known and given up
	Covered   uint64        `json:"covered"`        // damaged positions that segments have
	Kept      []repairRange `json:"kept"`
	Records   uint64        `json:"kept_records"`
	Entries   int64         `json:"kept_entries"`
	Bytes     int64         `json:"kept_bytes"`
	First     uint64        `json:"first"` // of the new log
	Next      uint64        `json:"next"`

	GivenUp        []repairRange    `json:"given_up"` // positions of intact records that cannot be kept
	GivenUpEntries int64            `json:"given_up_entries"`
	LogKept        bool             `json:"log_kept"` // it is sound, and stays as it is
	OtherLog       []repairOtherDoc `json:"other_log_segments"`

	Missing  []repairMissingDoc `json:"missing_segments"` // nothing but a copy has them
	Segments []repairSegmentDoc `json:"damaged_segments"`
	Count    int                `json:"segments"`
	Upto     uint64             `json:"segments_upto"`

	Need int64  `json:"need"` // bytes
	Free *int64 `json:"free,omitempty"`
}

type repairPlace struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	End    int64  `json:"end,omitempty"` // 0: the end of the file
	Reason string `json:"reason"`
}

type repairRange struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

type repairMissingDoc struct {
	File string `json:"file"`
	repairRange
	Entries int64 `json:"entries"` // -1: not known
}

type repairOtherDoc struct {
	File string `json:"file"`
	repairRange
	Entries    int64  `json:"entries"`
	Served     bool   `json:"served"`
	Reason     string `json:"reason"`
	Quarantine string `json:"quarantine,omitempty"` // where it is, once repaired
}

type repairSegmentDoc struct {
	File     string   `json:"file"`
	Readable int64    `json:"readable"`
	Lost     int64    `json:"lost"`
	Index    string   `json:"index_error,omitempty"`
	Replayed bool     `json:"replayed"`
	Damage   []string `json:"damage"`
}

// repairJSON returns a plan for programs.
func repairJSON(p *logstore.RepairPlan) repairDoc {
	d := repairDoc{
		Schema: repairSchema, Dir: p.Dir, Needed: p.Refused != nil || p.Interrupted, Refused: text(p.Refused), Log: p.LogDir, LogID: p.LogID,
		LogMissing: p.LogMissing, Interrupted: p.Interrupted, Quarantine: p.Quarantine, Accepted: p.Accepted,
		LogDamage: []repairPlace{}, Deletions: []string{}, Lost: rangesJSON(p.Lost), OpenEnd: p.OpenEnd, Covered: p.Covered,
		Kept: rangesJSON(p.Kept), Records: p.KeptRecords(), Entries: p.KeptEntries, Bytes: p.KeptBytes, First: p.First, Next: p.Next,
		GivenUp: rangesJSON(p.GivenUp), GivenUpEntries: p.GivenUpEntries, LogKept: p.LogKept, OtherLog: []repairOtherDoc{},
		Missing: []repairMissingDoc{}, Segments: []repairSegmentDoc{}, Count: p.SegmentCount, Upto: p.SegmentUpto, Need: p.Need,
	}
	if p.Free >= 0 {
		d.Free = &p.Free
	}
	if t := p.Torn; t != nil {
		d.Torn = &inspectTorn{t.File, t.Offset, t.Bytes, t.Records, wal.Position(t.Position)}
	}
	for _, l := range p.LogDamage {
		d.LogDamage = append(d.LogDamage, repairPlace(l))
	}
	for _, o := range p.OtherLog {
		d.OtherLog = append(d.OtherLog, repairOtherDoc{o.File, repairRange{o.After + 1, o.Upto}, o.Entries, o.Served, o.Reason, o.Quarantine})
	}
	for _, del := range p.Deletions {
		d.Deletions = append(d.Deletions, del.String())
	}
	for _, m := range p.Missing {
		d.Missing = append(d.Missing, repairMissingDoc{m.File, repairRange{m.After + 1, m.Upto}, m.Entries})
	}
	for _, s := range p.Segments {
		damage := []string{}
		for _, err := range s.Damage {
			damage = append(damage, err.Error())
		}
		d.Segments = append(d.Segments, repairSegmentDoc{s.File, s.Readable, s.Lost, text(s.IndexErr), s.Replayed, damage})
	}
	return d
}

func rangesJSON(list []logstore.PositionRange) []repairRange {
	all := []repairRange{}
	for _, r := range list {
		all = append(all, repairRange{r.First, r.Last})
	}
	return all
}
