package mpsc_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stele-go/stele/mpsc"
)

// Many goroutines push, and one takes all values there are at a time. After
// Close the consumer pops the remaining values, then gets ErrClosed.
func Example() {
	ctx := context.Background()
	q := mpsc.New[int](64)

	go func() {
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				for range 100 {
					if err := q.Push(ctx, i); err != nil {
						panic(err)
					}
				}
			})
		}
		wg.Wait()
		q.Close()
	}()

	sum := 0
	batch := make([]int, 32)
	for {
		n, err := q.PopBatch(ctx, batch, 0)
		if errors.Is(err, mpsc.ErrClosed) {
			break
		}
		if err != nil {
			panic(err)
		}
		for _, v := range batch[:n] {
			sum += v
		}
		clear(batch) // so that handled values are not kept alive
	}
	fmt.Println(sum)
	// Output: 4500
}

// TryPush returns an error when the queue is full.
func ExampleQueue_TryPush() {
	q := mpsc.New[string](2)
	for _, v := range []string{"a", "b", "c"} {
		if err := q.TryPush(v); errors.Is(err, mpsc.ErrFull) {
			fmt.Println(v, "has to go elsewhere")
		}
	}
	fmt.Println(q.Len(), "of", q.Cap())
	// Output:
	// c has to go elsewhere
	// 2 of 2
}

// With a linger the consumer collects until it has a full batch or the time is
// over: batches of 4, or the values of 1 ms.
func ExampleQueue_PopBatch() {
	ctx := context.Background()
	q := mpsc.New[int](16)
	for i := range 6 {
		if err := q.Push(ctx, i); err != nil {
			panic(err)
		}
	}
	batch := make([]int, 4)
	for range 2 {
		n, err := q.PopBatch(ctx, batch, time.Millisecond)
		fmt.Println(batch[:n], err)
	}
	// Output:
	// [0 1 2 3] <nil>
	// [4 5] <nil>
}
