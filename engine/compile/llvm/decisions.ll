; The function of a row for each row of an array. Words in capitals are filled in.

define void @decide_rows(ptr %in, ptr %out, i64 %first, i64 %end) {
entry:
  br label %row.loop
row.loop:
  %row = phi i64 [%first, %entry], [%row.next, %row.loop]
  %from = mul i64 %row, INPUTS
  %given = getelementptr double, ptr %in, i64 %from
  %to = mul i64 %row, OUTPUTS
  %found = getelementptr double, ptr %out, i64 %to
  call void @decide(ptr %given, ptr %found)
  %row.next = add i64 %row, 1
  %row.more = icmp ult i64 %row.next, %end
  br i1 %row.more, label %row.loop, label %row.done
row.done:
  ret void
}
