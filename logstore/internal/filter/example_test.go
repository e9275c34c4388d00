package filter

import "fmt"

func Example() {
	var b Builder
	b.Add([]byte("user anna: connection to 10.0.0.12 timed out"))
	b.Add([]byte("用户 anna 登录失败"))
	f := b.Append(nil)

	for _, s := range []string{"Anna", "10.0.0.12", "登录", "bob", "10.0.0.1"} {
		fmt.Println(s, May(f, Word([]byte(s))))
	}
	// Output:
	// Anna true
	// 10.0.0.12 true
	// 登录 true
	// bob false
	// 10.0.0.1 false
}
