package hardlines

import "strings"

// A script has words of a language, the frequent ones first.
type script struct {
	words       []string
	blank, stop string
}

var scripts = [...]script{
	{words("the of and to in a is that for it was on with as be by at from his have had not are but this they were which one all would there their when who will more no if out so said what up its about into than them can only other new some could time these two may then do first any my now such like our over man me even most made after also did many before must through back years where much your way well down should because each just those people how too little state good very make world still own see men work long get here between both life being under never day same another know while last might us great old year off come since against go came right used take three"), " ", "."},
	{words("и в не на я быть он с что а по это она этот к но они мы весь который из у то за свой что весь год от так о для ты же все тот мочь вы человек такой его сказать только или ещё бы себя один как уже до время если сам когда другой вот говорить наш мой знать стать при чтобы дело жизнь кто первый очень два день её новый рука даже во со раз где там под можно ну какой после их работа без самый потом надо хотеть ли слово идти большой должен место иметь ничто"), " ", "."},
	{words("και το να του η της με που την από για τον τα είναι των σε ο οι στο θα τη στην τις δεν τους ένα μια στη μας ότι αυτό στα σας κατά ως έχει μου έναν αλλά αν πολύ ή όπως όταν πριν μετά κάθε άλλο χρόνο ημέρα κόσμος σήμερα ζωή νερό πόλη δρόμος σπίτι βιβλίο λόγος φως θάλασσα ουρανός άνθρωπος παιδί γυναίκα χέρι μάτι φωνή"), " ", "."},
	{words("的 一 是 不 了 人 我 在 有 他 这 中 大 来 上 国 个 到 说 们 为 子 和 你 地 出 道 也 时 年 得 就 那 要 下 以 生 会 自 着 去 之 过 家 学 对 可 她 里 后 小 么 心 多 天 而 能 好 都 然 没 日 于 起 还 发 成 事 只 作 当 想 看 文 无 开 手 十 用 主 行 方 又 如 前 所 本 见 经 头 面 公 同 三 已 老 从 动 两 长 知 民 样 现 分 将 外 但 身 些 与 高 意 进 把 法 此 实 回 二 理 美 点 月 明 其 种 声 全 工 己 话 儿 者 向 情 部 正 名 定 女 问 力 机 给 等 几 很 业 最 间 新 什 打 便 位 因 重 被 走 电 四 第 门 相 次 东 政 海 口 使 教 西 再 平 真 听 世 气 信 北 少 关 并 内 加 化 由 却 代 军 产 入 先 山 五 太 水 万 市"), "", "。"},
	{words("في من على أن إلى التي عن لا ما هذا مع كان هذه الذي كل بعد قد بين لم أو ذلك إن عند غير حتى هو هي ثم منذ أكثر كما حول خلال يوم عام قبل أي نحو ليس كانت وقد عليه فيه العالم الناس الوقت المدينة البيت الماء الشمس الليل النهار الكتاب الطريق الباب اليد العين الصوت الحياة العمل الكلمة"), " ", "."},
}

func words(text string) []string { return strings.Fields(text) }

var (
	jsonKeys      = words("id ts user status path bytes took trace host items price tags meta owner state count ref kind")
	tracePackages = words("example.com/shop/cart example.com/shop/pay net/http database/sql example.com/shop/internal/queue runtime encoding/json example.com/shop/cmd/server")
	traceFuncs    = words("Serve (*Server).handle (*conn).serve HandlerFunc.ServeHTTP (*DB).QueryContext (*Queue).Push.func1 Decode main (*Cart).Total goexit")
)
