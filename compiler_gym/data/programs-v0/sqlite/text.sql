-- Virtual tables of text, triggers, views, floating point and dates.
CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT, words INT DEFAULT 0);
CREATE TABLE log(what TEXT, note INT);
CREATE TRIGGER noted AFTER INSERT ON note BEGIN
  INSERT INTO log VALUES('insert', new.id);
  UPDATE note SET words = length(body) - length(replace(body, ' ', '')) + 1 WHERE id = new.id;
END;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
INSERT INTO note(body) SELECT substr('the quick brown fox jumps over the lazy dog', 1 + i % 20, i % 23) FROM n;
CREATE VIEW long AS SELECT * FROM note WHERE words > 3;
SELECT count(*), sum(words), round(avg(words), 4) FROM long;
SELECT body, count(*) AS n FROM note WHERE body LIKE '%fox%' GROUP BY body ORDER BY n DESC, body LIMIT 8;
SELECT count(*) FROM log;
SELECT date('2024-02-28', '+2 days'), strftime('%j', '2024-12-31'), julianday('2000-01-01');
SELECT round(exp(1), 10), round(sqrt(2) * 1e6, 4), 7 / 2, 7 / 2.0, abs(-9223372036854775807);
SELECT hex(zeroblob(3)), quote('it''s'), unicode('ß'), lower('ÄB'), instr('haystack', 'st');
PRAGMA integrity_check;
