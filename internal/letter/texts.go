package letter

import (
	"bytes"
	"text/template"
)

// kind is the kind of a letter.
type kind int

const (
	verificationLetter kind = iota
	resetLetter
	codeLetter
	testLetter
)

// letterText holds the texts of a letter in one language. They are templates over letterData and
// give plain text, from which both layouts are made.
type letterText struct {
	subject string
	before  []string // paragraphs above the link or code
	button  string   // label of the link
	after   []string // paragraphs below
	goodbye string
}

// defaultLocale is used for a locale without texts.
const defaultLocale = "en-US"

const (
	goodbyeEnglish = "This is an automatic message of {{.Site}}, {{.Base}}"
	goodbyeChinese = "这是 {{.Site}}（{{.Base}}）自动发送的邮件，请勿回复。"
)

var letters = map[string]map[kind]letterText{
	defaultLocale: {
		verificationLetter: {
			subject: "{{.Site}}: please verify your email address",
			before: []string{
				"Hello {{.Name}},",
				"somebody, most likely you, uses this address for the account {{.Name}} at {{.Site}}. Please verify " +
					"that it is yours:",
			},
			button: "Verify the address",
			after: []string{
				"The link works for 24 hours.",
				"If it wasn't you, ignore this message: nobody can use your address without the link.",
			},
			goodbye: goodbyeEnglish,
		},
		resetLetter: {
			subject: "{{.Site}}: set a new password",
			before: []string{
				"Hello {{.Name}},",
				"somebody, most likely you, asked for a new password for the account {{.Name}} at {{.Site}}. Choose " +
					"it here:",
			},
			button: "Set a new password",
			after: []string{
				"The link works only once, within 15 minutes.",
				"If it wasn't you, ignore this message: your password stays as it is.",
			},
			goodbye: goodbyeEnglish,
		},
		codeLetter: {
			subject: "{{.Site}}: your code",
			before: []string{
				"Hello {{.Name}},",
				"you asked to use this address for your account {{.Name}} at {{.Site}}. This is the code that " +
					"confirms it:",
			},
			after: []string{
				"The code works for 5 minutes. Do not share it: {{.Site}} never asks for it in any other place.",
				"If it wasn't you, ignore this message: nothing changes without the code.",
			},
			goodbye: goodbyeEnglish,
		},
		testLetter: {
			subject: "{{.Site}}: a test message",
			before: []string{
				"Hello,",
				"the administrator {{.Name}} of {{.Site}} sent this message to test the email settings. They work.",
			},
			after:   []string{"You do not need to do anything; you can ignore this message."},
			goodbye: goodbyeEnglish,
		},
	},
	"zh-CN": {
		verificationLetter: {
			subject: "{{.Site}}：请验证您的邮箱地址",
			before: []string{
				"{{.Name}}，您好：",
				"有人（应该就是您）在 {{.Site}} 为账号 {{.Name}} 使用了这个邮箱地址。请确认它属于您：",
			},
			button: "验证邮箱地址",
			after: []string{
				"链接在 24 小时内有效。",
				"如果不是您本人操作，请忽略这封邮件：没有这个链接，任何人都无法使用您的地址。",
			},
			goodbye: goodbyeChinese,
		},
		resetLetter: {
			subject: "{{.Site}}：设置新密码",
			before: []string{
				"{{.Name}}，您好：",
				"有人（应该就是您）请求为 {{.Site}} 的账号 {{.Name}} 设置新密码。请在这里设置：",
			},
			button: "设置新密码",
			after: []string{
				"链接只能使用一次，15 分钟内有效。",
				"如果不是您本人操作，请忽略这封邮件：您的密码不会改变。",
			},
			goodbye: goodbyeChinese,
		},
		codeLetter: {
			subject: "{{.Site}}：您的验证码",
			before: []string{
				"{{.Name}}，您好：",
				"您请求将这个邮箱地址用于 {{.Site}} 的账号 {{.Name}}。验证码如下：",
			},
			after: []string{
				"验证码在 5 分钟内有效。请勿告诉任何人：{{.Site}} 不会在其他地方向您索要验证码。",
				"如果不是您本人操作，请忽略这封邮件：没有验证码，什么都不会改变。",
			},
			goodbye: goodbyeChinese,
		},
		testLetter: {
			subject: "{{.Site}}：测试邮件",
			before: []string{
				"您好：",
				"{{.Site}} 的管理员 {{.Name}} 发送了这封邮件，以检查邮件功能是否正常。收到即表示正常。",
			},
			after:   []string{"您无需进行任何操作，可以忽略这封邮件。"},
			goodbye: goodbyeChinese,
		},
	},
}

// letterData is the data that is filled into the texts. All values are single lines.
type letterData struct {
	Site, Base string // title and address of the site
	Name       string // the account that the letter is about
	Link, Code string // at most one of them
}

// filledLetter is a letter with its data filled in, for the layouts.
type filledLetter struct {
	Locale  string
	Subject string
	Before  []string
	Link    string
	Button  string
	Code    string
	After   []string
	Goodbye string
}

// fill fills the data into the texts of a letter of a kind, in the language of a locale; an unknown
// locale gets English.
func fill(locale string, k kind, f letterData) (filledLetter, error) {
	if letters[locale] == nil {
		locale = defaultLocale
	}
	w := letters[locale][k]
	p := filledLetter{Locale: locale, Link: f.Link, Code: f.Code, Before: make([]string, len(w.before)),
		After: make([]string, len(w.after))}
	execute := func(into *string, text string) error {
		t, err := template.New("").Parse(text)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		err = t.Execute(&b, f)
		*into = b.String()
		return err
	}
	for into, text := range map[*string]string{&p.Subject: w.subject, &p.Button: w.button, &p.Goodbye: w.goodbye} {
		if err := execute(into, text); err != nil {
			return filledLetter{}, err
		}
	}
	for i, text := range w.before {
		if err := execute(&p.Before[i], text); err != nil {
			return filledLetter{}, err
		}
	}
	for i, text := range w.after {
		if err := execute(&p.After[i], text); err != nil {
			return filledLetter{}, err
		}
	}
	return p, nil
}
