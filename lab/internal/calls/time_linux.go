//go:build amd64 || arm64

package calls

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/stele-go/stele/internal/measure/systrace"
	"github.com/stele-go/stele/lab/internal/buckets"
)

// A Timer times the system calls of this process, of all its threads, from
// Begin to End. Calls that lie across either are left out. It costs each of
// ours about a microsecond, and all others on the machine half of that.
//
// Memory shared with the programs, in 64-bit words:
//
//	running | slot 0: total, max, buckets ... | slot 1 ...
type Timer struct {
	pieces
	mem *ebpf.Memory
}

const (
	word       = 8
	slotSize   = (2 + buckets.Count) * word
	mostActive = 1 << 15 // threads of this process, ended ones included
)

// NewTimer prepares a timer, which Begin starts. Its error says what the kernel
// refused.
func NewTimer() (*Timer, error) {
	t := new(Timer)
	if err := t.open(); err != nil {
		t.Close()
		return nil, explained("time system calls", err)
	}
	return t, nil
}

func (t *Timer) open() error {
	times, mem, err := t.shared(word + systrace.Slots*slotSize)
	if err != nil {
		return err
	}
	t.mem = mem
	// The calls that threads are in, each with the time of its entry.
	entered, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Hash, KeySize: 4, ValueSize: 2 * word, MaxEntries: mostActive})
	if err != nil {
		return fmt.Errorf("create a map: %w", err)
	}
	t.pieces = append(t.pieces, entered)
	ours, err := onlyOurs()
	if err != nil {
		return err
	}
	if err := t.attach("sys_exit", exitProgram(ours, entered.FD(), times.FD())); err != nil {
		return err
	}
	return t.attach("sys_enter", enterProgram(ours, entered.FD(), times.FD()))
}

// Begin and End start and stop timing, without a system call.
func (t *Timer) Begin() { t.run(1) }
func (t *Timer) End()   { t.run(0) }

func (t *Timer) run(on uint64) {
	var b [word]byte
	binary.NativeEndian.PutUint64(b[:], on)
	t.mem.WriteAt(b[:], 0) // writable, and long enough
}

// Read returns the times by number, without those never called.
func (t *Timer) Read() map[int]*Latency {
	times := map[int]*Latency{}
	slot := make([]byte, slotSize)
	for number := range systrace.Slots {
		t.mem.ReadAt(slot, word+int64(number)*slotSize) // within the map
		var l Latency
		at := func(i int) uint64 { return binary.NativeEndian.Uint64(slot[i*word:]) }
		for i := range l.Buckets {
			if l.Buckets[i] = at(2 + i); l.Buckets[i] > 0 {
				// Two CPUs that write a maximum at once may leave the smaller one.
				l.Max, _ = buckets.Bounds(i)
			}
		}
		if l.Count() > 0 {
			l.Total, l.Max = at(0), max(l.Max, at(1))
			times[number] = &l
		}
	}
	return times
}

// whileRunning jumps to "out" before Begin and after End.
func whileRunning(times int) asm.Instructions {
	return asm.Instructions{
		asm.LoadMapValue(asm.R2, times, 0),
		asm.LoadMem(asm.R2, asm.R2, 0, asm.DWord),
		asm.JEq.Imm(asm.R2, 0, "out"),
	}
}

// enterProgram notes the call that a thread enters, and the time.
func enterProgram(ours asm.Instructions, entered, times int) asm.Instructions {
	return slices.Concat(whileRunning(times), number(), ours, thread(entered), asm.Instructions{
		asm.FnMapLookupElem.Call(),
		asm.Mov.Reg(asm.R7, asm.R0),
		asm.FnKtimeGetNs.Call(),
		// A thread that was here before has its entry: writing to it is cheaper
		// than taking it out and putting it in again.
		asm.JEq.Imm(asm.R7, 0, "new thread"),
		asm.StoreMem(asm.R7, 0, asm.R0, asm.DWord),
		asm.StoreMem(asm.R7, word, asm.R6, asm.DWord),
		asm.Ja.Label("out"),
		asm.StoreMem(asm.RFP, -24, asm.R0, asm.DWord).WithSymbol("new thread"),
		asm.StoreMem(asm.RFP, -16, asm.R6, asm.DWord),
	}, thread(entered), asm.Instructions{
		asm.Mov.Reg(asm.R3, asm.RFP), asm.Add.Imm(asm.R3, -24),
		asm.Mov.Imm(asm.R4, 0), // BPF_ANY
		asm.FnMapUpdateElem.Call(),
	}, out())
}

// thread makes this thread's key in the map the arguments of a helper.
func thread(entered int) asm.Instructions {
	return asm.Instructions{
		asm.LoadMapPtr(asm.R1, entered),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, onStackThread),
	}
}

// exitProgram books the time since then. Its context, {struct pt_regs *; long
// result}, does not tell the call's number.
func exitProgram(ours asm.Instructions, entered, times int) asm.Instructions {
	return slices.Concat(whileRunning(times), ours, thread(entered), asm.Instructions{
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "out"), // entered before Begin
		asm.LoadMem(asm.R7, asm.R0, 0, asm.DWord),
		asm.JEq.Imm(asm.R7, 0, "out"), // the same
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(asm.R0, 0, asm.R1, asm.DWord),
		asm.LoadMem(asm.R6, asm.R0, word, asm.DWord),
		asm.JGT.Imm(asm.R6, systrace.Slots-1, "out"), // never; the verifier wants to see it
		asm.FnKtimeGetNs.Call(),
		asm.Mov.Reg(asm.R8, asm.R0),
		asm.Sub.Reg(asm.R8, asm.R7), // R8 = nanoseconds
	}, bucketOfR8(), asm.Instructions{
		asm.Mul.Imm(asm.R6, slotSize),
		asm.LoadMapValue(asm.R2, times, word),
		asm.Add.Reg(asm.R2, asm.R6), // R2 = the slot
		asm.AddAtomic.Mem(asm.R2, asm.R8, asm.DWord, 0),
		asm.LoadMem(asm.R1, asm.R2, word, asm.DWord),
		asm.JGE.Reg(asm.R1, asm.R8, "not the longest"),
		asm.StoreMem(asm.R2, word, asm.R8, asm.DWord),
		asm.LSh.Imm(asm.R7, 3).WithSymbol("not the longest"),
		asm.Add.Reg(asm.R2, asm.R7),
		asm.Mov.Imm(asm.R1, 1),
		asm.AddAtomic.Mem(asm.R2, asm.R1, asm.DWord, 2*word), // buckets[R7]++
	}, out())
}

// bucketOfR8 is buckets.Of: R7 becomes the bucket of the time in R8.
func bucketOfR8() asm.Instructions {
	p := asm.Instructions{
		asm.Mov.Reg(asm.R7, asm.R8),
		asm.JLT.Imm(asm.R8, buckets.PerOctave, "bucket"),
		asm.Mov.Reg(asm.R3, asm.R8),
		asm.Mov.Imm(asm.R7, 0), // the octave, by halving
	}
	for shift := int32(32); shift > 0; shift /= 2 {
		next := fmt.Sprintf("below %d", shift)
		p = append(p,
			asm.Mov.Reg(asm.R1, asm.R3),
			asm.RSh.Imm(asm.R1, shift),
			asm.JEq.Imm(asm.R1, 0, next),
			asm.Mov.Reg(asm.R3, asm.R1),
			asm.Add.Imm(asm.R7, shift),
			asm.Mov.Reg(asm.R7, asm.R7).WithSymbol(next), // a place to jump to
		)
	}
	return append(p,
		asm.JLE.Imm(asm.R7, buckets.LastOctave, "in range"),
		asm.Mov.Imm(asm.R7, buckets.Count-1),
		asm.Ja.Label("bucket"),
		asm.Mov.Reg(asm.R1, asm.R7).WithSymbol("in range"),
		asm.Sub.Imm(asm.R1, 2),
		asm.Mov.Reg(asm.R3, asm.R8),
		asm.RSh.Reg(asm.R3, asm.R1),
		asm.And.Imm(asm.R3, buckets.PerOctave-1),
		asm.Sub.Imm(asm.R7, 1),
		asm.Mul.Imm(asm.R7, buckets.PerOctave),
		asm.Add.Reg(asm.R7, asm.R3),
		asm.JGT.Imm(asm.R7, buckets.Count-1, "out").WithSymbol("bucket"), // never; the verifier wants to see it
	)
}
