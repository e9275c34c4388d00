package loki

import (
	"fmt"
	"math/rand/v2"
)

type meta = map[string]string

// sources are the streams of the data.
var sources = []source{
	{"app=api,env=prod,host=a1", 420, func(r *rand.Rand, i int) (string, meta) {
		return fmt.Sprintf(`{"level":%q,"msg":"request done","status":%d,"took":%q,"size":%q,"bytes":%d,"request":{"method":%q,"path":%q,"headers":{"x-id":"%d","user agent":"curl/8"}},"tags":["a","b%d"],"ok":%v,"user":null}`,
			one(r, levels...), status(r), took(r), size(r), r.IntN(5000), one(r, "GET", "GET", "POST"), one(r, paths...), i, i%3, i%5 != 0), nil
	}},
	{"app=api,env=dev,host=b1", 180, func(r *rand.Rand, i int) (string, meta) {
		switch i % 9 {
		case 3:
			return `{"level":"error","msg":"cut off`, nil
		case 5:
			return `plain text in a stream of JSON, error 42`, nil
		case 7:
			return fmt.Sprintf(`{"app":"shadow","env":"inner","level":"warn","msg":"say \"hi\" \u00e9 \n two","n":%d.5,"deep":{"er":{"est":[1,{"x":2}]}}}`, i), nil
		}
		return fmt.Sprintf(`{"level":%q,"msg":"grüße 你好","status":"%d","took":%q,"count":%d,"empty":"","n":-%d}`, one(r, levels...), status(r), took(r), r.IntN(50), i), nil
	}},
	{"app=web,env=prod,host=w1", 420, func(r *rand.Rand, i int) (string, meta) {
		return fmt.Sprintf(`%s - %s [01/Mar/2026:10:%02d:%02d +0000] "%s %s HTTP/1.1" %d %d "-" "Mozilla/5.0 (X11; Linux)" %.3f`,
			ipv4(r), one(r, "-", "alice", "bob"), i/7%60, i%60, one(r, "GET", "POST", "PUT"), one(r, paths...), status(r), r.IntN(20000), r.Float64()), nil
	}},
	{"app=web,env=prod,host=w2", 200, func(r *rand.Rand, i int) (string, meta) {
		return fmt.Sprintf(`%s - - "%s %s" %d %d`, ipv6(r), one(r, "GET", "DELETE"), one(r, paths...), status(r), r.IntN(2000)), nil
	}},
	{"app=auth,env=prod,host=c1,team=core", 360, func(r *rand.Rand, i int) (string, meta) {
		return fmt.Sprintf(`ts=2026-03-01T10:00:%02dZ level=%s caller=auth.go:%d msg="user %s logged in" user=%s addr=%s:%d took=%s size=%s status=%d value=%.3f flag empty=`,
			i%60, one(r, levels...), 10+i%40, one(r, "alice", "bob"), one(r, "alice", "bob", "carol"), ipv4(r), 1024+r.IntN(999), took(r), size(r), status(r), r.NormFloat64()*100), nil
	}},
	{"app=auth,env=dev,host=c2,team=core", 120, func(r *rand.Rand, i int) (string, meta) {
		switch i % 8 {
		case 1:
			return `level=error msg="never closed user=bob took=1s`, nil
		case 3:
			return `=novalue level=warn a==b "quoted"=x took=abc`, nil
		case 5:
			return `level=info env=inner host="x y" app=other took=5 status=abc size=12XB`, nil
		}
		return fmt.Sprintf(`level=%s msg="slash \"q\" \\ tab\t" took=%s status=%d n=%d`, one(r, levels...), took(r), status(r), i), nil
	}},
	{"app=db,env=prod,host=d1,team=data", 240, func(r *rand.Rand, i int) (string, meta) {
		if i%20 == 7 {
			return fmt.Sprintf("ERROR:  deadlock detected\n\tDETAIL: process %d waits\n\tHINT: see the log", 100+i), nil
		}
		return fmt.Sprintf(`2026-03-01 10:00:00.%03d UTC [%d] LOG:  duration: %.3f ms  statement: %s`, i%1000, 4000+i%7, r.ExpFloat64()*40,
			one(r, "SELECT 1", "select * from users where id = 5", "UPDATE t SET a = 'x'", "COMMIT")), nil
	}},
	{"app=worker,env=prod,host=e1,team=data", 160, func(r *rand.Rand, i int) (string, meta) {
		c := 31 + i%4
		return fmt.Sprintf("\x1b[%dm%s\x1b[0m job=%d \x1b[1;4m%s\x1b[0m after %s", c, one(r, "INFO", "WARN", "ERROR"), i%13, one(r, "timeout", "refused", "finished", "denied"), took(r)), nil
	}},
	{"app=shop,env=prod,host=f1", 240, func(r *rand.Rand, i int) (string, meta) {
		m := meta{"trace_id": fmt.Sprintf("t%03d", i%40), "user": one(r, "alice", "bob", "carol")}
		if i%3 == 0 {
			m["level"] = one(r, "error", "INFO", "Warning")
		}
		if i%10 == 4 {
			m["env"] = "inner" // the name of a label of the stream
		}
		return fmt.Sprintf(`order %d placed level=%s amount=%d.%02d trace_id=parsed%d`, 1000+i, one(r, levels...), r.IntN(300), r.IntN(100), i%4), m
	}},
	{"app=counter,env=prod,host=g1", 240, func(r *rand.Rand, i int) (string, meta) {
		// Two counters, of which one begins again now and then.
		return fmt.Sprintf(`{"name":"c%d","total":%d,"gauge":%.2f}`, i%2, (i%(60+60*(i%2)))*7+r.IntN(5), r.NormFloat64()), nil
	}},
	{"app=sparse,env=dev,host=h1", 6, func(_ *rand.Rand, i int) (string, meta) {
		return fmt.Sprintf("beat %d", i), nil
	}},
	{"app=packed,env=dev,host=i1", 90, func(r *rand.Rand, i int) (string, meta) {
		if i%15 == 2 {
			return `{"pod":"p9","_entry":5}`, nil
		}
		if i%15 == 4 {
			return `not packed`, nil
		}
		return fmt.Sprintf(`{"pod":"p%d","env":"inner","nested":{"a":1},"_entry":"level=%s status=%d inner line"}`, i%3, one(r, levels...), status(r)), nil
	}},
	{"app=mixed,env=prod,host=j1,level=warn", 120, func(r *rand.Rand, i int) (string, meta) {
		return one(r, "Fatal: disk full", "CRITICAL something", "all good, no level", "[ERROR] failed", "level=debug noise", `{"severity":"Info","message":"x"}`, "W0301 10:00:00 warnings", "trace me") + fmt.Sprintf(" %d", i%11), nil
	}},
}
