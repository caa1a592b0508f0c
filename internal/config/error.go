package config

// Error is a setting that cannot be taken.
type Error struct {
	Where   string // "MYNAH_TOP_P", "config.toml:3: top_p", or the file alone
	Message string // what is wrong and what is allowed
}

func (e *Error) Error() string { return e.Where + ": " + e.Message }
