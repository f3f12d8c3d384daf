// SPDX-License-Identifier: Apache-2.0
// Copyright the rocketmq-go authors.

package protocol

// Language is the LanguageCode of a command's sender (the byte of the binary header).
type Language uint8

const (
	LanguageJava   Language = 0
	LanguageOther  Language = 7
	LanguageGo     Language = 9
	LanguageNodeJS Language = 13
)

var languageNames = [...]string{
	"JAVA", "CPP", "DOTNET", "PYTHON", "DELPHI", "ERLANG", "RUBY", "OTHER", "HTTP", "GO", "PHP", "OMS", "RUST", "NODE_JS",
}

// String is the name in JSON headers; unknown numbers count as OTHER.
func (l Language) String() string {
	if int(l) < len(languageNames) {
		return languageNames[l]
	}
	return languageNames[LanguageOther]
}

// ParseLanguage is the language of that name; unknown names count as OTHER.
func ParseLanguage(name string) Language {
	for i, n := range languageNames {
		if n == name {
			return Language(i)
		}
	}
	return LanguageOther
}
