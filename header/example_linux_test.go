package header_test

import (
	"context"
	"fmt"

	"github.com/stele-go/stele/header"
)

// With space reserved at the head, a header costs the same whatever the size of the
// file: a few hundred bytes are written, and no content moves.
func ExampleReserve() {
	name, remove := exampleFile("content\n")
	defer remove()
	o := header.Options{Pad: header.PadByte(' ')}
	if _, err := header.Reserve(context.Background(), name, 12, o); err != nil {
		fmt.Println(err)
		return
	}
	o.Mode = header.InPlace
	for _, h := range []string{"first|", "2nd|"} {
		res, err := header.Insert(context.Background(), name, []byte(h), o)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(res.Strategy, "moved", res.Moved)
	}
	show(name)
	h, err := header.Read(context.Background(), name, header.Options{})
	fmt.Printf("%s %v\n", h, err)
	// Output:
	// slot moved 0
	// slot moved 0
	// 2nd|first|  content
	// 2nd| <nil>
}
