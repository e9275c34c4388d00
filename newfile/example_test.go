package newfile_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/newfile"
)

func ExampleDir_Create() {
	tmp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)

	d, err := newfile.OpenDir(tmp, newfile.Options{
		Level:  durability.Kill, // names survive kill -9; leave it out for Power
		Shards: 256,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()

	f, err := d.Create("order-4711.json", 0o644)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Fprintln(f, "{}")
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}
	_, err = d.Create("order-4711.json", 0o644)
	fmt.Println("again:", errors.Is(err, fs.ErrExist))

	rel, err := filepath.Rel(tmp, d.Path("order-4711.json"))
	fmt.Println(filepath.ToSlash(rel), err)
	// Output:
	// again: true
	// 87/order-4711.json <nil>
}

// openTemp opens a Dir in a directory that end removes.
func openTemp(o newfile.Options) (d *newfile.Dir, end func()) {
	tmp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	d, err = newfile.OpenDir(tmp, o)
	if err != nil {
		log.Fatal(err)
	}
	return d, func() {
		d.Close()
		os.RemoveAll(tmp)
	}
}

func ExampleDir_Batch() {
	d, end := openTemp(newfile.Options{Level: durability.Kill})
	defer end()

	names := []string{"a", "b", "c"}
	made, err := d.Batch(context.Background(), slices.Values(names), 0o644, func(name string, f *os.File) error {
		_, err := fmt.Fprintln(f, "I am", name)
		return err
	})
	fmt.Println(made, err)
	// Output: 3 <nil>
}

// Many goroutines, one file each.
func ExampleQueue() {
	d, end := openTemp(newfile.Options{Level: durability.Kill, Shards: 16})
	defer end()
	q, err := newfile.NewQueue(d, newfile.QueueOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer q.Close()

	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			f, err := q.Create(context.Background(), fmt.Sprint(i))
			if err != nil {
				log.Fatal(err)
			}
			defer f.Close()
			fmt.Fprintln(f, "written by", i)
		})
	}
	wg.Wait()
	s := q.Stats()
	fmt.Println(s.Answered, "answered,", s.Failed, "failed,", s.Queued, "wait")
	// Output: 100 answered, 0 failed, 0 wait
}

// A report that is visible only when it is complete.
func ExampleAnonymous() {
	d, end := openTemp(newfile.Options{Level: durability.Kill})
	defer end()
	f, err := newfile.Anonymous(d, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()

	fmt.Fprintln(f, "all of it")
	if err := f.Publish("report"); err != nil {
		log.Fatal(err)
	}
	content, err := os.ReadFile(d.Path("report"))
	fmt.Printf("%s%v\n", content, err)
	// Output:
	// all of it
	// <nil>
}

func ExamplePool() {
	d, end := openTemp(newfile.Options{Level: durability.Kill})
	defer end()
	p, err := newfile.NewPool(d, 8) // at most eight files at once
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()

	for _, word := range []string{"first", "second"} {
		s, err := p.Get(context.Background())
		if err != nil {
			log.Fatal(err)
		}
		fmt.Fprint(s, word)
		n, err := s.Size()
		fmt.Println(n, err)
		if err := s.Close(); err != nil { // empties it, and returns it to the pool
			log.Fatal(err)
		}
	}
	// Output:
	// 5 <nil>
	// 6 <nil>
}
