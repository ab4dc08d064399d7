/** The open dialog of a list, and the record that it changes or deletes; undefined for none. */
export type RecordDialog<Row> = { kind: "edit"; row?: Row } | { kind: "delete"; row: Row } | undefined;
