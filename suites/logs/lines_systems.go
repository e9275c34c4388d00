package logs

import "fmt"

// A logSource is a system that is built in: what it writes at each level, the
// commonest first, in the notation of logBuilder.parse.
type logSource struct {
	name   string
	weight float64 // its share of all lines
	millis bool
	levels []logSourceLevel
}

type logSourceLevel struct {
	level  int
	weight float64
	lines  []string
}

const logUserAgents = `Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/131.0 Safari/537.36|` +
	`Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) Mobile/15E148|` +
	`Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Firefox/132.0|okhttp/4.12.0|curl/8.5.0|` +
	`Googlebot/2.1 (+http://www.google.com/bot.html)|python-requests/2.32.3|kube-probe/1.31`

var logSources = []logSource{
	{"web", 22, true, []logSourceLevel{
		{logInfo, 92, []string{
			`<ip:4:203> - - [<time:d/b/Y:H:M:S> +0000] "GET /api/v2/<of:8:items|orders|carts|users|search|prices>/<id:0:7> HTTP/1.1" 200 <id:3:4> "-" "<of:6:` + logUserAgents + `>" <ms:300-400000>`,
			`<ip:4:203> - - [<time:d/b/Y:H:M:S> +0000] "GET /static/<word:js|css|img|fonts>/<hex:1:12>.<word:js|css|png|woff2> HTTP/1.1" 304 0 "-" "<of:6:` + logUserAgents + `>" <ms:50-3000>`,
			`<ip:4:203> - <of:7:anna|ben|chloe|dmitri|emeka|fatima|gao> [<time:d/b/Y:H:M:S> +0000] "POST /api/v2/<word:orders|carts|sessions> HTTP/1.1" 201 <size:60-2000> "-" "<of:6:` + logUserAgents + `>" <ms:900-900000>`,
			`<ip:4:10> - - [<time:d/b/Y:H:M:S> +0000] "GET /healthz HTTP/1.1" 200 2 "-" "kube-probe/1.31" <ms:40-900>`,
		}},
		{logWarn, 6, []string{
			`<ip:4:203> - - [<time:d/b/Y:H:M:S> +0000] "GET /<word:wp-login.php|.env|.git/config|admin|phpmyadmin|api/v1/users> HTTP/1.1" 404 153 "-" "<of:6:` + logUserAgents + `>" <ms:50-3000>`,
			`<ip:4:203> - - [<time:d/b/Y:H:M:S> +0000] "GET /api/v2/orders/<id:0:7> HTTP/1.1" 401 61 "-" "<of:6:` + logUserAgents + `>" <ms:50-3000>`,
		}},
		{logError, 2, []string{
			`<ip:4:203> - - [<time:d/b/Y:H:M:S> +0000] "GET /api/v2/<word:items|orders|carts>/<id:0:7> HTTP/1.1" <word:502|504|500> 559 "-" "<of:6:` + logUserAgents + `>" <ms:900000-60000000>`,
		}},
	}},
	{"orders", 16, false, []logSourceLevel{
		{logInfo, 88, []string{
			`{"ts":"<time:Y-m-dTH:M:S.3Z>","level":"info","caller":"http/server.go:93","msg":"request done","method":"GET","path":"/orders/<id:0:8>","status":200,"ms":<ms:300-200000>,"trace":"<hex:1:16>"}`,
			`{"ts":"<time:Y-m-dTH:M:S.3Z>","level":"info","caller":"store/cart.go:217","msg":"cart updated","cart":"<hex:2:12>","items":<int:1-30>,"cents":<id:3:5>}`,
			`{"ts":"<time:Y-m-dTH:M:S.3Z>","level":"info","caller":"queue/consumer.go:64","msg":"message handled","topic":"<of:9:orders.created|orders.paid|stock.changed>","partition":<of:10:0|1|2|3|4|5|6|7>,"offset":<id:0:9>,"ms":<ms:100-40000>}`,
		}},
		{logWarn, 9, []string{
			`{"ts":"<time:Y-m-dTH:M:S.3Z>","level":"warn","caller":"http/client.go:141","msg":"slow answer","peer":"<word:payments|stock|mailer>:8080","ms":<ms:500000-9000000>,"trace":"<hex:1:16>"}`,
			`{"ts":"<time:Y-m-dTH:M:S.3Z>","level":"warn","caller":"queue/consumer.go:88","msg":"retrying","attempt":<int:1-5>,"offset":<id:0:9>}`,
		}},
		{logError, 3, []string{
			`{"ts":"<time:Y-m-dTH:M:S.3Z>","level":"error","caller":"store/tx.go:48","msg":"commit failed","order":"<id:0:8>","err":"<word:deadlock detected|context deadline exceeded|connection reset by peer>","trace":"<hex:1:16>"}`,
		}},
	}},
	{"billing", 14, true, []logSourceLevel{
		{logInfo, 90, []string{
			`<time:Y-m-d H:M:S,3> INFO  [http-nio-8080-exec-<id:4:2>] com.example.billing.InvoiceService: Invoice <id:0:8> for customer <id:1:6> created, total <size:1-90000>.<int:10-99> EUR`,
			`<time:Y-m-d H:M:S,3> INFO  [scheduler-<int:1-4>] com.example.billing.dunning.DunningJob: Checked <size:1-9000> open invoices in <size:5-9000> ms`,
			`<time:Y-m-d H:M:S,3> INFO  [kafka-consumer-<int:0-7>] com.example.billing.events.PaymentListener: Payment <hex:2:16> of invoice <id:0:8> received`,
		}},
		{logWarn, 8, []string{
			`<time:Y-m-d H:M:S,3> WARN  [http-nio-8080-exec-<id:4:2>] com.zaxxer.hikari.pool.ProxyLeakTask: Connection leak detection triggered for org.postgresql.jdbc.PgConnection@<hex:2:8>`,
			`<time:Y-m-d H:M:S,3> WARN  [pool-2-thread-<int:1-16>] com.example.billing.tax.RateClient: No rate for <word:DE|FR|PT|SE|PL>, using the cached one of <size:1-600> s ago`,
		}},
		{logError, 2, []string{
			`<time:Y-m-d H:M:S,3> ERROR [http-nio-8080-exec-<id:4:2>] com.example.billing.InvoiceController: java.lang.IllegalStateException: invoice <id:0:8> is <word:PAID|VOID|DRAFT>` +
				"\n\tat com.example.billing.Invoice.pay(Invoice.java:<int:100-180>)\n\tat com.example.billing.InvoiceService.settle(InvoiceService.java:77)",
		}},
	}},
	{"kernel", 8, false, []logSourceLevel{
		{logInfo, 94, []string{
			`<time:b _ H:M:S> <host> systemd[1]: <word:Starting|Started|Finished> <word:sysstat-collect.service - system activity accounting tool|logrotate.service - Rotate log files|apt-daily.service - Daily apt download activities|fstrim.service - Discard unused blocks>.`,
			`<time:b _ H:M:S> <host> kernel: [<uptime>] docker0: port <int:1-40>(veth<hex:0:7>) entered <word:blocking|forwarding|disabled> state`,
			`<time:b _ H:M:S> <host> CRON[<id:1:6>]: (root) CMD (cd / && run-parts --report /etc/cron.hourly)`,
			`<time:b _ H:M:S> <host> kernel: [<uptime>] audit: type=1400 audit(<id:2:10>.<int:100-999>:<size:100-99999>): apparmor="STATUS" operation="profile_replace" pid=<id:1:6>`,
		}},
		{logError, 6, []string{
			`<time:b _ H:M:S> <host> kernel: [<uptime>] Out of memory: Killed process <id:1:6> (<word:java|node|python3>) total-vm:<size:900000-90000000>kB, anon-rss:<size:90000-9000000>kB, file-rss:<size:4-4000>kB`,
			`<time:b _ H:M:S> <host> kernel: [<uptime>] nvme nvme<int:0-3>: I/O <int:1-1023> QID <int:1-16> timeout, aborting`,
		}},
	}},
	{"sshd", 8, true, []logSourceLevel{
		{logInfo, 70, []string{
			`<time:b _ H:M:S> <host> sshd[<id:0:6>]: Received disconnect from <ip:4:45> port <port:9>:11: Bye Bye [preauth]`,
			`<time:b _ H:M:S> <host> sshd[<id:0:6>]: pam_unix(sshd:auth): check pass; user unknown`,
			`<time:b _ H:M:S> <host> sshd[<id:0:6>]: Accepted publickey for <of:7:deploy|root|anna|ben> from <ip:4:10> port <port:9> ssh2: ED25519 SHA256:<hex:1:32>`,
		}},
		{logWarn, 30, []string{
			`<time:b _ H:M:S> <host> sshd[<id:0:6>]: Failed password for invalid user <of:7:admin|test|oracle|postgres|ubuntu|git|user> from <ip:4:45> port <port:9> ssh2`,
			`<time:b _ H:M:S> <host> sshd[<id:0:6>]: pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost=<ip:4:45>  user=root`,
		}},
	}},
	{"blockstore", 14, false, []logSourceLevel{
		{logInfo, 96, []string{
			`<time:ymd HMS> <id:3:3> INFO store.Replica: Received block blk_<id:0:19> of size 67108864 from /<ip:4:10>:50010`,
			`<time:ymd HMS> <id:3:3> INFO store.Replica: Receiving block blk_<id:0:19> src: /<ip:4:10>:<port:9> dest: /<ip:5:10>:50010`,
			`<time:ymd HMS> <id:3:3> INFO store.Namespace: BLOCK* addStoredBlock: blockMap updated: <ip:4:10>:50010 is added to blk_<id:0:19> size 67108864`,
			`<time:ymd HMS> <id:3:3> INFO store.Acker: responder <int:0-2> for block blk_<id:0:19> terminating`,
		}},
		{logWarn, 4, []string{
			`<time:ymd HMS> <id:3:3> WARN store.Replica: writeBlock blk_<id:0:19> received exception java.io.IOException: Connection reset by peer`,
			`<time:ymd HMS> <id:3:3> WARN store.Scanner: block blk_<id:0:19> has not been verified for <size:1-90> days`,
		}},
	}},
	{"ingest", 10, true, []logSourceLevel{
		{logInfo, 95, []string{
			`ts=<time:Y-m-dTH:M:S.3Z> level=info caller=flush.go:94 msg="flushed stream" tenant=<id:1:4> stream=<hex:0:16> bytes=<size:900-2000000> chunks=<of:5:1|2|3|4> took=<ms:800-90000>ms`,
			`ts=<time:Y-m-dTH:M:S.3Z> level=info caller=metrics.go:159 component=querier tenant=<id:1:4> query_hash=<id:2:10> returned=<size:1-5000> took=<ms:900-9000000>ms status=200`,
			`ts=<time:Y-m-dTH:M:S.3Z> level=info caller=ring.go:64 msg="heartbeat" instance=ingester-<id:5:1> addr=<ip:4:10>:9095 tokens=128`,
		}},
		{logError, 5, []string{
			`ts=<time:Y-m-dTH:M:S.3Z> level=error caller=push.go:219 msg="push refused" tenant=<id:1:4> err="rate limit of <int:1-16> MiB exceeded" bytes=<size:900-2000000>`,
		}},
	}},
	{"database", 8, false, []logSourceLevel{
		{logInfo, 97, []string{
			`<time:Y-m-d H:M:S.3> UTC [<id:0:6>] app@orders LOG:  duration: <ms:100-3000000> ms  execute <of:5:S_1|S_2|S_14|unnamed>: SELECT id, state, total FROM orders WHERE customer_id = $1 AND state = $2`,
			`<time:Y-m-d H:M:S.3> UTC [<id:0:6>] app@orders LOG:  duration: <ms:100-3000000> ms  statement: UPDATE stock SET free = free - <int:1-9> WHERE item = <id:1:7>`,
			`<time:Y-m-d H:M:S.3> UTC [<id:0:6>] LOG:  checkpoint complete: wrote <size:10-90000> buffers; write=<ms:9000-90000000> s, sync=<ms:10-9000> s; distance=<size:900-900000> kB`,
			`<time:Y-m-d H:M:S.3> UTC [<id:0:6>] app@orders LOG:  connection authorized: user=app database=orders application_name=<word:orders|billing|psql> SSL enabled`,
		}},
		{logError, 3, []string{
			`<time:Y-m-d H:M:S.3> UTC [<id:0:6>] app@orders ERROR:  duplicate key value violates unique constraint "<word:orders_pkey|payments_ref_key|users_email_key>"`,
			`<time:Y-m-d H:M:S.3> UTC [<id:0:6>] app@orders ERROR:  canceling statement due to <word:statement timeout|lock timeout|user request>`,
		}},
	}},
}

// addBuiltin adds the systems above.
func (b *logBuilder) addBuiltin() error {
	for _, src := range logSources {
		s := logSystem{name: src.name, millis: src.millis}
		var weights []float64
		for _, level := range src.levels {
			var texts []logTemplate
			for _, line := range level.lines {
				t, err := b.parse(line)
				if err != nil {
					return fmt.Errorf("%s: %w", src.name, err)
				}
				texts = append(texts, t)
			}
			s.levels = append(s.levels, logLevels[level.level])
			s.byLevel = append(s.byLevel, texts)
			weights = append(weights, level.weight)
		}
		s.level = newLogChoice(weights)
		b.systems = append(b.systems, s)
		b.weights = append(b.weights, src.weight)
	}
	return nil
}
