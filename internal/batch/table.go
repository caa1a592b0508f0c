package batch

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// readTable reads CSV or TSV with a header.
func (in *Input) readTable(data []byte, form Form) error {
	next := csvRows(string(data))
	if form == TSV {
		next = tsvRows(string(data))
	}
	line, header, err := next()
	if errors.Is(err, io.EOF) {
		return errors.New("it is empty, wanted a header with a column input")
	}
	if err != nil {
		return err
	}
	columns, err := in.readHeader(line, header)
	if err != nil {
		return err
	}
	for {
		line, row, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(row, func(cell string) bool { return strings.TrimSpace(cell) != "" }) {
			in.Blank++
			continue
		}
		in.Items = append(in.Items, readRow(line, row, columns))
	}
}

// readHeader finds the field of each column, nil where there is none.
func (in *Input) readHeader(line int, header []string) ([]*field, error) {
	columns := make([]*field, len(header))
	var ignored unused
	names := map[string]bool{}
	for i, name := range header {
		f, ok := fieldNamed(name)
		if flag, isWide := jobWide[strings.ToLower(strings.TrimSpace(name))]; isWide {
			return nil, fmt.Errorf("line %d: the column %.60q is not taken here, there is %s", line, strings.TrimSpace(name), flag)
		}
		if !ok {
			ignored.add(strings.TrimSpace(name), line)
			continue
		}
		if names[f.name] {
			return nil, fmt.Errorf("line %d: two columns for %s", line, f.name)
		}
		names[f.name] = true
		columns[i] = &f
	}
	if !names["input"] {
		return nil, fmt.Errorf("line %d: no column input (or text); there is %.200s", line, strings.Join(header, ", "))
	}
	in.Warnings = ignored.warnings("column")
	return columns, nil
}

// readRow makes an item of a row. Empty cells say nothing.
func readRow(line int, row []string, columns []*field) Item {
	it := Item{Line: line}
	if len(row) != len(columns) {
		it.Problem = fmt.Sprintf("%d columns, the header has %d", len(row), len(columns))
	}
	for i, cell := range row {
		cell = strings.TrimSpace(cell)
		if i >= len(columns) || columns[i] == nil || cell == "" {
			continue
		}
		problem := invalidUTF8(cell)
		if problem == "" {
			if err := columns[i].set(&it, cell); err != nil {
				problem = err.Error()
			}
		}
		if problem != "" && it.Problem == "" {
			it.Problem = columns[i].name + ": " + problem
		}
	}
	return it
}

// csvRows returns what reads the rows of CSV, each with its first line.
func csvRows(data string) func() (int, []string, error) {
	r := csv.NewReader(strings.NewReader(data))
	r.FieldsPerRecord = -1
	header, _, _ := strings.Cut(strings.TrimLeft(data, "\n"), "\n")
	if !strings.Contains(header, ",") && strings.Contains(header, ";") {
		r.Comma = ';' // spreadsheets write it where the comma is in numbers
	}
	return func() (int, []string, error) {
		row, err := r.Read()
		var syntax *csv.ParseError
		switch {
		case errors.As(err, &syntax):
			return 0, nil, fmt.Errorf("line %d: %w", syntax.StartLine, syntax.Err)
		case err != nil:
			return 0, nil, err
		}
		line, _ := r.FieldPos(0)
		return line, row, nil
	}
}

// tsvRows returns what reads the rows of TSV.
func tsvRows(data string) func() (int, []string, error) {
	line := 0
	return func() (int, []string, error) {
		for {
			if data == "" {
				return line, nil, io.EOF
			}
			var row string
			row, data, _ = strings.Cut(data, "\n")
			line++
			if line > 1 || strings.TrimSpace(row) != "" {
				return line, strings.Split(row, "\t"), nil
			}
		}
	}
}
